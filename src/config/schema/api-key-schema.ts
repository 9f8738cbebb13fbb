import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { parseHex, prefixedHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { integer, parsed, partAt, type Report, text } from './setting.ts';

export const API_KEY = { name: 'console', sha256: '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683' };

export const ApiKey = Type.Object(
  {
    name: text({
      description: 'The owner of the key, in metrics and in the log.',
      maxLength: 100,
      examples: ['console'],
    }),
    sha256: parsed(
      Type.String({
        description: 'The SHA-256 of the key in hex, so that no key stands in a file: `printf %s KEY | sha256sum`.',
        pattern: '^[0-9a-fA-F]{64}$',
        allowed: 'a SHA-256 in hex, 64 digits: printf %s KEY | sha256sum',
        secret: 'when wrong',
        examples: [API_KEY.sha256],
      }),
      parseKeyHash,
    ),
    unitsPerMinute: integer(1, 10_000_000, { default: 30_000, description: "The key's limit per minute." }),
    routes: Type.Array(Type.Enum(['aggregation', 'data', 'rpc', 'operate']), {
      default: ['aggregation', 'data', 'rpc'],
      description:
        'The groups of routes that the key is valid for. `operate` shows what happened to the requests of all clients; any other key sees its own.',
      minItems: 1,
      maxItems: 4,
      examples: [['aggregation']],
    }),
  },
  { additionalProperties: false, secret: 'when wrong', description: 'The key of a client.' },
);

/** What shells hash if the variable with the key is not set: with `printf`, and with `echo`. */
const HASHES_OF_NOTHING: ReadonlySet<string> = new Set(['', '\n'].map((text) => hash('sha256', text)));

/** @throws {ParseError} */
function parseKeyHash(hex: string): Uint8Array {
  if (!HASHES_OF_NOTHING.has(hex.toLowerCase())) return parseHex(hex, 'sha256');
  throw new ParseError(
    'sha256',
    'must be the hash of a key, is that of an empty text: was the variable with the key set?',
  );
}

/** Checks that no two keys share a name or a hash. */
export function checkApiKeys(keys: readonly unknown[], report: Report): void {
  const names = new Set<unknown>();
  const hashes = new Set<unknown>();
  for (const [index, key] of keys.entries()) {
    const name = partAt(key, ['name']);
    const sha256 = partAt(key, ['sha256']);
    const hash = sha256 instanceof Uint8Array ? prefixedHex(sha256) : undefined;
    if (name !== undefined && names.has(name)) report('has the name of another key', [index]);
    else if (hash !== undefined && hashes.has(hash)) report('has the hash of another key', [index]);
    names.add(name);
    hashes.add(hash);
  }
}
