import { loadBackend } from '../../src/bls/backends/load-backend.ts';
import type { BlsScheme } from './bls-scheme.ts';
import { openHttpDoor } from './http-door.ts';
import { modelScheme } from './model-bls.ts';
import type { Plan, ReplicasPlan } from './plan.ts';
import { createRealScheme } from './real-bls.ts';
import { type Report, World } from './world.ts';

export type Bls = Plan['bls'];

export type RunReport = Report & { readonly plan: Plan };

/** @returns a function that runs plans one after the other, with all that they share */
export async function openSimulator(): Promise<(plan: Plan) => Promise<RunReport>> {
  const door = await openHttpDoor();
  const schemes = new Map<Bls, BlsScheme>([['model', modelScheme]]);
  return async (plan) => {
    const { bls } = plan;
    const scheme = schemes.get(bls) ?? createRealScheme(await loadBackend(bls === 'native' ? 'native' : 'noble'));
    schemes.set(bls, scheme);
    return { ...(await new World(plan, scheme, door).run()), plan };
  };
}

/** What a failure prints: what went wrong, and how to see it again. */
export function describeFailure({ plan, violations }: RunReport): string {
  const { seed, bls, themes, requests, validators, replicas } = plan;
  const isReal = bls === 'noble' || bls === 'native';
  return [
    `seed ${seed}:`,
    ...violations.slice(0, 10).map((violation) => `  ${violation}`),
    `  ${validators.length} validators, ${requests.length} requests, ${bls}; faults: ${[...themes].join(', ') || 'none'}`,
    ...(replicas === undefined ? [] : [describeReplicas(replicas)]),
    `replay: SIMULATION_SEED=${seed}${isReal ? ` SIMULATION_BLS=${bls}` : ''} npx vitest run test/simulation/${replicas === undefined ? 'simulation' : 'replicas'}.test.ts`,
  ].join('\n');
}

function describeReplicas({ count, ends, store }: ReplicasPlan): string {
  const faults = [
    ...ends.map(({ replica, how, atMs }) => `${replica} ${how} at ${atMs} ms`),
    ...store.spells.map(({ fault, fromMs, untilMs }) => `${fault} from ${fromMs} to ${untilMs} ms`),
    ...store.moments.map(({ what, atMs }) => `${what} at ${atMs} ms`),
  ];
  return `  ${count} replicas; the store and the replicas: ${faults.join(', ') || 'all well'}`;
}
