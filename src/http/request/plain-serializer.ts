/** Serializer for responses whose schema documents them but filters nothing: `JSON.stringify`, which needs no compiled schema. */
export const PLAIN_SERIALIZER = () => (value: unknown) => JSON.stringify(value);
