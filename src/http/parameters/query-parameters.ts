import { type TSchema, Type } from 'typebox';
import { optionalText } from '../../lib/encoding/schema.ts';
import { checkAllParameters, type Parameters } from './check-parameters.ts';

export function percentage(byDefault: bigint, description: string) {
  return Type.Optional(Type.Integer({ minimum: 0, maximum: 100, default: Number(byDefault), description }));
}

/** Parameters shared by the service's own lookups. */
export const HEIGHT_PARAMETERS = {
  pChainHeight: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'The P-Chain height of the validators; 0 is the proposed height',
    }),
  ),
  destinationBlockchainId: optionalText(
    'The blockchain that verifies, in hex or cb58: the P-Chain height is then that of its current epoch, unless pChainHeight is given',
  ),
};

/**
 * Checks a query's parameters as strings, refuses unknown ones, and converts numbers, as a route's `validatorCompiler`. Handlers check those
 * of the path.
 */
export function checkQuery({ schema, httpPart }: { schema: TSchema; httpPart?: string }) {
  return (values: unknown) => {
    if (httpPart !== 'querystring') return true;
    checkAllParameters(schema, values as Parameters);
    return { value: numbersOf(schema, values as Parameters) };
  };
}

const NO_QUERY = Type.Object({});

/** Refuses a query, as a route's `preValidation`. @throws {HttpError} naming the parameter */
export async function refuseQuery({ query }: { readonly query: unknown }): Promise<void> {
  checkAllParameters(NO_QUERY, query as Parameters);
}

/** Checks a query's parameters as strings, refuses unknown ones, and converts numbers. @throws {HttpError} naming the parameter */
export function convertQuery(schema: TSchema, values: Parameters): object {
  checkAllParameters(schema, values);
  return numbersOf(schema, values);
}

/** Converts the texts of numbers. */
function numbersOf(schema: TSchema, values: Parameters): object {
  const properties = propertiesOf(schema);
  const isNumber = (name: string): boolean => ['integer', 'number'].includes(properties[name]?.type ?? '');
  return Object.fromEntries(Object.entries(values).map(([name, text]) => [name, isNumber(name) ? Number(text) : text]));
}

function propertiesOf(schema: TSchema): Readonly<Record<string, { readonly type?: string }>> {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { readonly type?: string }>> };
  return properties;
}
