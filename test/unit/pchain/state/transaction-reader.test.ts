import { expect, test } from 'vitest';
import { ByteWriter } from '../../../../src/lib/encoding/byte-writer.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { createTransactionReader } from '../../../../src/pchain/state/transaction-reader.ts';
import { idFromBytes, type TxID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const never = new AbortController().signal;
const txID = (index: number): TxID =>
  idFromBytes<TxID>(new ByteWriter().bytes(new Uint8Array(28)).u32(index).finish(), 'tx');

/** A ConvertSubnetToL1Tx as far as it is read. */
function conversionWith(validators: number): Uint8Array {
  const writer = new ByteWriter().u16(0).u32(35);
  writer.u32(1).bytes(new Uint8Array(32)).u32(0).u32(0).lengthPrefixed(new Uint8Array());
  writer.bytes(new Uint8Array(32)).bytes(new Uint8Array(32)).lengthPrefixed(new Uint8Array()).u32(validators);
  for (let index = 0; index < validators; index += 1) {
    writer.lengthPrefixed(new Uint8Array(20)).u64(1n).u64(0n).bytes(new Uint8Array(48)).bytes(new Uint8Array(96));
    writer.u32(0).u32(0).u32(0).u32(0);
  }
  return writer.finish();
}

function createHarness(bytes: Uint8Array) {
  const asked: TxID[] = [];
  const api = {
    getTx: async (id: TxID) => {
      asked.push(id);
      return bytes;
    },
  };
  return { asked, read: createTransactionReader(api, new FakeClock()) };
}

test('a transaction is requested once', async () => {
  const { asked, read } = createHarness(conversionWith(3));
  for (const index of [1, 2, 1, 2]) {
    expect(await read(txID(index), never)).toMatchObject({ kind: 'ConvertSubnetToL1Tx' });
  }
  expect(asked).toHaveLength(2);
});

test('a transaction that is not accepted yet is requested again', async () => {
  const refusal = new ApiError('rejected', 'not found', { rejection: { code: -32_000, message: 'not found' } });
  let bytes: Uint8Array | undefined;
  const getTx = async () => bytes ?? Promise.reject(refusal);
  const read = createTransactionReader({ getTx }, new FakeClock());
  expect(await read(txID(1), never)).toBeUndefined();
  bytes = conversionWith(1);
  expect(await read(txID(1), never)).toMatchObject({ kind: 'ConvertSubnetToL1Tx' });
});

test('large transactions are cached up to 4 MiB', async () => {
  const bytes = conversionWith(320);
  expect(bytes.length).toBeGreaterThan(60 * 1024);
  const { asked, read } = createHarness(bytes);
  for (let index = 0; index < 100; index += 1) await read(txID(index), never);
  for (const index of [99, 0]) await read(txID(index), never);
  expect(asked.slice(100)).toEqual([txID(0)]);
});

test('only the name of a transaction without a message is cached', async () => {
  const bytes = new Uint8Array(64 * 1024);
  bytes[5] = 34;
  const { asked, read } = createHarness(bytes);
  for (let index = 0; index < 400; index += 1) await read(txID(index), never);
  await read(txID(0), never);
  expect(asked).toHaveLength(400);
});
