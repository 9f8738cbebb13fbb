import { expect, test } from 'vitest';
import type { JobPermit } from '../../../../src/aggregation/admission/job-permit.ts';
import type { Job, JobEnd } from '../../../../src/aggregation/collection/job.ts';
import { NO_FINAL_REFUSALS } from '../../../../src/aggregation/collection/tally.ts';
import { awaitExecution, collect } from '../../../../src/aggregation/stages/await-execution.ts';

const NOT_YET: JobEnd = { kind: 'not yet' };
const INSUFFICIENT = { kind: 'insufficient', ...NO_FINAL_REFUSALS } as unknown as JobEnd;

/** A job whose collection records what is done with it. */
function create(awaiting: () => Promise<void> = async () => undefined) {
  const events: string[] = [];
  const permit = {} as JobPermit;
  const record = (event: string, given: JobPermit): void => {
    events.push(given === permit ? event : `${event} with another permit`);
  };
  const collection = {
    async collect(given: JobPermit): Promise<JobEnd> {
      record('collect', given);
      return INSUFFICIENT;
    },
    async awaitExecution(given: JobPermit): Promise<void> {
      record('await', given);
      await awaiting();
    },
  };
  const job = { permit, collection } as unknown as Job;
  /** Ends one run after the other so. */
  const endingWith = (...ends: readonly JobEnd[]) => {
    const left = ends.values();
    return async (given: Job): Promise<JobEnd> => {
      events.push(given === job ? 'run' : 'run of another job');
      return left.next().value ?? expect.fail('one run too many');
    };
  };
  return { events, job, endingWith };
}

test('a job that ends at once awaits no execution', async () => {
  const { events, job, endingWith } = create();
  expect(await awaitExecution()(endingWith(INSUFFICIENT))(job)).toBe(INSUFFICIENT);
  expect(events).toEqual(['run']);
});

test('each "not yet" awaits the execution, and is followed by one more run of the same job', async () => {
  const { events, job, endingWith } = create();
  expect(await awaitExecution()(endingWith(NOT_YET, NOT_YET, INSUFFICIENT))(job)).toBe(INSUFFICIENT);
  expect(events).toEqual(['run', 'await', 'run', 'await', 'run']);
});

test('a wait that is refused fails the job, without another run', async () => {
  const refused = new Error('too many wait');
  const { events, job, endingWith } = create(async () => {
    throw refused;
  });
  await expect(awaitExecution()(endingWith(NOT_YET))(job)).rejects.toBe(refused);
  expect(events).toEqual(['run', 'await']);
});

test('collecting is one run of the collection with the permit of the job', async () => {
  const { events, job } = create();
  expect(await collect()(job)).toBe(INSUFFICIENT);
  expect(events).toEqual(['collect']);
});
