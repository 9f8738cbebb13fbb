import { afterAll } from 'vitest';
import type { Behaviour } from '../../devnet/behaviour.ts';
import { setBehaviour } from '../../devnet/faulty-validator.ts';
import { type RunningService, startService } from './running-service.ts';

/** Starts one service for the tests of a file. */
export async function shareService(...how: Parameters<typeof startService>): Promise<RunningService> {
  const service = await startService(...how);
  afterAll(() => service[Symbol.asyncDispose]());
  return service;
}

/** Has the first validators, by default all, act so until the end of the work. */
export async function whileValidators<Result>(
  { devnet }: RunningService,
  behaviour: Behaviour,
  work: () => Promise<Result>,
  count = devnet.nodeIDs.length,
): Promise<Result> {
  const validators = Array.from({ length: count }, (_, index) => devnet.validator(index));
  for (const validator of validators) setBehaviour(validator, behaviour);
  try {
    return await work();
  } finally {
    for (const validator of validators) setBehaviour(validator, { kind: 'normal' });
  }
}
