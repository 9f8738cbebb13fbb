/** Handles one request, call or job. */
export type Handler<In, Out> = (input: In) => Promise<Out>;

/** A step in the life of a request: refuses, answers or waits, or hands the request to the next one. */
export type Stage<In, Out> = (next: Handler<In, Out>) => Handler<In, Out>;

/** Composes stages of one type, the first one outermost, around the handler that ends their list. */
export function stages<In, Out>(...list: readonly [...Stage<In, Out>[], Handler<In, Out>]): Handler<In, Out> {
  const last = list.at(-1) as Handler<In, Out>;
  return (list.slice(0, -1) as Stage<In, Out>[]).reduceRight((next, stage) => stage(next), last);
}
