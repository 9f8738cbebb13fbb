import type { TSchema } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import { badRequest, MAX_SHOWN_LENGTH } from '../errors/http-error.ts';
import { checkParameters, type Parameters } from './check-parameters.ts';

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
  destinationBlockchainId: Type.Optional(
    Type.String({
      description:
        'A blockchain, in hex or cb58: the P-Chain height is then that of its current epoch. Not together with pChainHeight',
    }),
  ),
};

/** Checks a query's parameters as strings and refuses unknown ones, as a route's `validatorCompiler`. Handlers check those of the path. */
export function checkQuery({ schema, httpPart }: { schema: TSchema; httpPart?: string }) {
  const known = Object.keys((schema as { properties?: object }).properties ?? {});
  return (values: unknown): true => {
    if (httpPart !== 'querystring') return true;
    const unknown = Object.keys(values as object).find((name) => !known.includes(name));
    checkParameters(schema, values as Parameters);
    if (unknown === undefined) return true;
    throw badRequest(`unknown parameter ${unknown.slice(0, MAX_SHOWN_LENGTH)}; known are: ${known.join(', ')}`);
  };
}

/** Returns the strings that {@link checkQuery} accepted, whatever types the schema documents. */
export function textsOf<T>({ query }: { readonly query: unknown }): T {
  return query as T;
}
