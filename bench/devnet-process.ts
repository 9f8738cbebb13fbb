import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { registerDevnetRoutes } from '../src/devnet/node/devnet-routes.ts';
import { systemClock } from '../src/lib/concurrency/clock.ts';
import { createLogger } from '../src/telemetry/logger.ts';
import type { NodeID } from '../src/warp/ids.ts';
import { setBehaviour, startFaultyDevnet } from '../test/devnet/faulty-validator.ts';
import { floodFrames } from '../test/devnet/flood-frames.ts';
import { misbehaviourFromSeed, type WeightedIndex } from '../test/faults/misbehaviour.ts';

/** Which validators of the primary network misbehave: the two heaviest are slow, or a third of the weight misbehaves from a seed. */
type Misbehaving = 'none' | 'slow' | 'mixed';

// node bench/devnet-process.ts VALIDATORS [none|slow|mixed] [SEED] [EXECUTION_LAG_MS]: the devnet in a separate process. Prints its URLs as a
// JSON line and ends with its parent.
const devnet = await startFaultyDevnet({
  validators: Number(process.argv[2]),
  executionLagMs: Number(process.argv[5] ?? 0),
  clock: systemClock,
  logger: createLogger('warn'),
});
// Made before the flood, so that it delays no validator of this process.
floodFrames();
await misbehave((process.argv[3] ?? 'none') as Misbehaving, Number(process.argv[4] ?? 0));
// As the service's server, for the schemas of transactions.
const server = fastify({ ajv: { customOptions: { discriminator: true } } }).withTypeProvider<TypeBoxTypeProvider>();
registerDevnetRoutes(server, devnet, 'fuji');
// Signature requests that all validators have received.
server.get('/app-requests', async () => ({
  count: devnet.nodeIDs.reduce((sum, _, index) => sum + devnet.validator(index).appRequestCount, 0),
}));
// Six validators with about 15 % of the weight flood their peers for some seconds.
server.post<{ Params: { seconds: string } }>('/flood/:seconds', async ({ params }) => {
  const flooding = sixOf(await weights(), 0.15).map(({ index }) => devnet.validator(index));
  for (const validator of flooding) setBehaviour(validator, { kind: 'flooding' });
  setTimeout(() => {
    for (const validator of flooding) setBehaviour(validator, { kind: 'normal' });
  }, 1_000 * Number(params.seconds));
  return {};
});
// Accepts a block with so many messages, and returns their IDs.
let payloads = 0;
server.post<{ Params: { chain: 'C' | 'L1'; messages: string } }>('/blocks/:chain/:messages', async ({ params }) => {
  const { chain, messages: count } = params;
  const texts = Array.from({ length: Number(count) }, () => Buffer.from(`message ${(payloads += 1)}`));
  return devnet.chains[chain].transact(texts).messages.map(({ id }) => id);
});
const url = await server.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ url, apiUrl: devnet.apiUrl }));
process.stdin.on('end', () => process.exit(0)).resume();

async function misbehave(how: Misbehaving, seed: number): Promise<void> {
  if (how === 'none') return;
  const validators = await weights();
  const plan =
    how === 'slow'
      ? validators.slice(0, 2).map(({ index }) => [index, { kind: 'slow', delayMs: 1_000 }] as const)
      : [
          ...misbehaviourFromSeed(
            seed,
            validators.toSorted((a, b) => a.index - b.index),
            0.33,
          ),
        ].map(([index, { behaviour }]) => [index, behaviour] as const);
  for (const [index, behaviour] of plan) setBehaviour(devnet.validator(index), behaviour);
}

/** Returns six validators of neighbouring weights whose share comes closest to this. */
function sixOf(validators: readonly WeightedIndex[], share: number): readonly WeightedIndex[] {
  const sum = (some: readonly WeightedIndex[]): number => Number(some.reduce((all, { weight }) => all + weight, 0n));
  const total = sum(validators);
  const sixes = validators.slice(5).map((_, index) => validators.slice(index, index + 6));
  const distance = (six: readonly WeightedIndex[]): number => Math.abs(sum(six) / total - share);
  return sixes.toSorted((a, b) => distance(a) - distance(b))[0] ?? [];
}

/** The heaviest first. */
async function weights(): Promise<WeightedIndex[]> {
  const response = await fetch(`${devnet.apiUrl}/ext/bc/P`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'platform.getValidatorsAt', params: { height: 'proposed' } }),
  });
  const { result } = (await response.json()) as { result: Record<string, { weight: string }> };
  return Object.entries(result)
    .map(([nodeID, { weight }]) => ({ index: devnet.nodeIDs.indexOf(nodeID as NodeID), weight: BigInt(weight) }))
    .toSorted((a, b) => (a.weight < b.weight ? 1 : -1));
}
