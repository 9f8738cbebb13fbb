import type { TSchema } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import { badRequest } from '../errors/http-error.ts';
import { checkParameters, type Parameters } from './check-parameters.ts';

/** Parameters that the service's own lookups share. */
export const HEIGHT_PARAMETERS = {
  pChainHeight: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'The P-Chain height whose validators are meant; 0 is the proposed height',
    }),
  ),
  destinationBlockchainId: Type.Optional(
    Type.String({
      description:
        'A blockchain, in hex or cb58: the P-Chain height is then that of its current epoch. Not together with pChainHeight',
    }),
  ),
};

/**
 * A route's `validatorCompiler` that takes parameters of a query as the texts that they are, and refuses unknown ones. Those of the path
 * are checked where they are read.
 */
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

/** The parameters as {@link checkQuery} has let them through: the types of the schema are those of the document. */
export function textsOf<T>({ query }: { readonly query: unknown }): T {
  return query as T;
}

/** As much of a name as an error repeats. */
const MAX_SHOWN_LENGTH = 100;
