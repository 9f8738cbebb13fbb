import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { askedOf, connectedShareOf, countOf, signedShareOf } from '../../../src/record/signing-counts.ts';
import type { SigningRecord } from '../../../src/record/signing-record.ts';
import { METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';
import { START_UNIX_MS } from '../../support/fake-clock.ts';
import { createRecordFixture, DAY_MS, HOUR_MS, nodeOf, OTHER, SUBNET, setOf, sign } from './record-fixture.ts';

const never = new AbortController().signal;
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'record-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function subnetOf(record: SigningRecord, sinceMs?: number) {
  return (await record.subnet(SUBNET, sinceMs, never)) ?? expect.fail('no record');
}

async function validatorOf(record: SigningRecord, number: number) {
  const found = await record.validator(SUBNET, nodeOf(number));
  if (found === undefined || found === 'no validator') throw new Error('no record');
  return found;
}

/** Asked and signed of each validator, the worst first. */
async function listOf(record: SigningRecord, sinceMs?: number) {
  const { validators } = await subnetOf(record, sinceMs);
  return validators.map(({ nodeIDs: [nodeID], counts }) => [
    [1, 2, 3, 4, 5].find((number) => nodeOf(number) === nodeID),
    askedOf(counts),
    countOf(counts, 'signed'),
  ]);
}

describe('the list of a subnet', () => {
  test('has each validator of the set, the one that lost most weight first, and those without a question last', async () => {
    const { open } = createRecordFixture();
    const record = open();
    sign(record, { 1: 'signed', 2: 'signed', 4: 'timed_out' });
    sign(record, { 1: 'signed', 2: 'refused', 4: 'unreachable' });
    expect(await listOf(record)).toEqual([
      [2, 2, 1],
      [4, 2, 0],
      [1, 2, 2],
      [3, 0, 0],
    ]);
    await record.closeAll();
  });

  test('counts each outcome, and the times of signatures and refusals alone', async () => {
    const { open } = createRecordFixture();
    const record = open();
    for (const outcome of [
      'signed',
      'refused',
      'timed_out',
      'unreachable',
      'invalid_signature',
      'not_asked',
    ] as const) {
      sign(record, { 1: outcome });
    }
    const { validators } = await subnetOf(record);
    const [{ counts } = expect.fail()] = validators;
    const names = ['signed', 'refused', 'timedOut', 'unreachable', 'invalid', 'notAsked'] as const;
    expect(names.map((name) => countOf(counts, name))).toEqual([1, 1, 1, 1, 1, 1]);
    expect(counts.subarray(8).reduce((sum, count) => sum + count, 0)).toBe(2);
    await record.closeAll();
  });

  test('does not count former validators, which a request for an old height may ask', async () => {
    const { open, sets } = createRecordFixture();
    const record = open();
    const withFormer = setOf(40n, 30n, 20n, 10n, 50n);
    sign(record, { 1: 'signed', 5: 'timed_out' }, { of: withFormer });
    sets.set(SUBNET, withFormer);
    expect(await listOf(record)).toContainEqual([5, 0, 0]);
    await record.closeAll();
  });

  test('is missing for a subnet that is not tracked, whose collections are not counted', async () => {
    const { open } = createRecordFixture();
    const record = open();
    record.onSigned(OTHER, () => expect.fail('nobody reads the answers'));
    expect(await record.subnet(OTHER, undefined, never)).toBeUndefined();
    expect(await record.validator(OTHER, nodeOf(1))).toBeUndefined();
    expect(await record.validator(SUBNET, nodeOf(9))).toBe('no validator');
    await record.closeAll();
  });

  test('has the weight that signed in each hour: without a question that which was connected', async () => {
    const { open, clock, connected } = createRecordFixture();
    const record = open();
    sign(record, { 1: 'signed', 2: 'signed' });
    sign(record, { 1: 'timed_out', 2: 'signed' });
    connected.delete(nodeOf(4));
    clock.jump(HOUR_MS);
    await clock.advance(60_000);
    sign(record, { 1: 'signed' });
    const { hours } = await subnetOf(record);
    expect(hours.map(({ startMs }) => startMs - START_UNIX_MS)).toEqual([0, HOUR_MS]);
    expect(hours.map(({ weight }) => Number(weight))).toEqual([80, 90]);
    await record.closeAll();
  });
});

describe('time', () => {
  test('is counted by hour, and a day ago is where the list begins', async () => {
    const { open, clock } = createRecordFixture(directory);
    const record = open();
    sign(record, { 1: 'timed_out' });
    await record.validator(SUBNET, nodeOf(1));
    clock.jump(DAY_MS);
    sign(record, { 1: 'signed' });
    expect((await listOf(record)).at(0)).toEqual([1, 2, 1]);
    clock.jump(HOUR_MS);
    expect(await listOf(record)).toContainEqual([1, 1, 1]);
    expect(await listOf(record, START_UNIX_MS)).toContainEqual([1, 2, 1]);
    await record.closeAll();
  });

  test('beyond 48 hours is counted by day, at most 90', async () => {
    for (const day of [0, 5, 6, 97, 98, 99]) {
      const { open, clock } = createRecordFixture(directory, START_UNIX_MS + day * DAY_MS);
      const record = open();
      await clock.advance(1);
      sign(record, { 1: day % 2 === 0 ? 'signed' : 'refused' });
      await record.closeAll();
    }
    const { open, clock } = createRecordFixture(directory, START_UNIX_MS + 100 * DAY_MS);
    const record = open();
    await clock.advance(1);
    const { hours, days } = await validatorOf(record, 1);
    const startsOf = (spans: typeof hours) =>
      spans.filter(({ counts }) => askedOf(counts) > 0).map(({ startMs }) => (startMs - START_UNIX_MS) / DAY_MS);
    expect(startsOf(hours)).toEqual([98, 99]);
    expect(startsOf(days)).toEqual([97, 98, 99]);
    expect((await listOf(record, START_UNIX_MS)).at(0)).toEqual([1, 3, 1]);
    expect((await listOf(record, START_UNIX_MS + 98 * DAY_MS)).at(0)).toEqual([1, 2, 1]);
    await record.closeAll();
  });

  test('connected is that of samples, once a minute', async () => {
    const { open, clock, connected } = createRecordFixture();
    const record = open();
    connected.delete(nodeOf(2));
    await clock.advance(HOUR_MS / 2);
    connected.add(nodeOf(2));
    await clock.advance(HOUR_MS / 2 - 1);
    const { hours } = await validatorOf(record, 2);
    expect(hours.map(({ counts }) => countOf(counts, 'samples'))).toEqual([60]);
    expect(hours.map(({ counts }) => connectedShareOf(counts))).toEqual([0.5]);
    expect(hours.map(({ counts }) => signedShareOf(counts))).toEqual([undefined]);
    await record.closeAll();
  });

  test('without a folder is a day', async () => {
    const { open, clock } = createRecordFixture();
    const record = open();
    sign(record, { 1: 'refused' });
    await record.validator(SUBNET, nodeOf(1));
    clock.jump(23 * HOUR_MS);
    sign(record, { 1: 'signed' });
    expect((await listOf(record, 0)).at(0)).toEqual([1, 2, 1]);
    clock.jump(2 * HOUR_MS);
    await clock.advance(6 * 60_000);
    expect((await listOf(record, 0)).at(0)).toEqual([1, 1, 1]);
    await record.closeAll();
  });
});

describe('the file', () => {
  test('has all counts after a restart, in the middle of an hour and days later', async () => {
    const { open, clock } = createRecordFixture(directory);
    const before = open();
    sign(before, { 1: 'signed', 2: 'refused' });
    await before.closeAll();
    const again = open();
    sign(again, { 1: 'signed', 2: 'signed' });
    expect(await listOf(again)).toEqual([
      [2, 2, 1],
      [1, 2, 2],
      [3, 0, 0],
      [4, 0, 0],
    ]);
    await again.closeAll();
    clock.jump(5 * DAY_MS);
    const later = open();
    await clock.advance(1);
    expect((await listOf(later, START_UNIX_MS)).at(0)).toEqual([2, 2, 1]);
    const { hours, days } = await validatorOf(later, 2);
    expect(hours).toHaveLength(1);
    expect(days.map(({ startMs, counts }) => [startMs, askedOf(counts)])).toEqual([
      [START_UNIX_MS, 2],
      [START_UNIX_MS + 5 * DAY_MS, 0],
    ]);
    await later.closeAll();
  });

  test('that cannot be written costs the counts of some minutes and a warning', async () => {
    const { open, clock, warnings } = createRecordFixture(directory);
    const record = open();
    await clock.advance(1);
    const [file = ''] = readdirSync(directory).filter((name) => name.endsWith('.sqlite'));
    using other = new DatabaseSync(join(directory, file));
    other.exec('BEGIN IMMEDIATE');
    sign(record, { 1: 'signed' });
    await record.validator(SUBNET, nodeOf(1));
    expect(warnings).toEqual(['the record of validators cannot be written: counts of some minutes are lost']);
    other.exec('ROLLBACK');
    sign(record, { 1: 'refused' });
    expect((await listOf(record)).at(0)).toEqual([1, 1, 0]);
    await record.closeAll();
  });

  test('of a clock that was set back has the counts of both times', async () => {
    const { open } = createRecordFixture(directory);
    const before = open();
    sign(before, { 1: 'signed' });
    await before.closeAll();
    const back = createRecordFixture(directory, START_UNIX_MS - DAY_MS / 2).open();
    sign(back, { 1: 'refused' });
    const { hours } = await validatorOf(back, 1);
    expect(hours.map(({ counts }) => askedOf(counts))).toEqual([1]);
    await back.closeAll();
    const after = open();
    expect((await listOf(after)).at(0)).toEqual([1, 2, 1]);
    await after.closeAll();
  });
});

test('the ten worst are metrics, by the share of the total weight that they lost', async () => {
  const { open, clock, registry } = createRecordFixture();
  const record = open();
  sign(record, { 1: 'signed', 2: 'refused', 3: 'signed' });
  sign(record, { 1: 'signed', 2: 'signed', 3: 'signed' });
  await clock.advance(6 * 60_000);
  const { values = [] } = (await registry.getSingleMetric(`${METRIC_PREFIX}validator_lost_weight_ratio`)?.get()) ?? {};
  expect(values).toEqual([{ labels: { subnet_id: SUBNET, node_id: nodeOf(2) }, value: 0.15 }]);
  await record.closeAll();
});
