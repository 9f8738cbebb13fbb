import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { parseL1Message } from '../../../src/warp/l1-message.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { startService } from './running-service.ts';

const READS = 'signature_aggregator_api_calls_total{method="platform.getBlockByHeight",outcome="ok"}';

test('a restart with a store reads no block again', { timeout: 30_000 }, async () => {
  const storePath = mkdtempSync(join(tmpdir(), 'service-store-'));
  await using service = await startService(8);
  const removal = 'by transaction: SetL1ValidatorWeightTx that removes a registered validator';
  const path = service.devnet.examples('fuji').find(({ name }) => name === removal)?.path ?? '';
  try {
    {
      await using first = await service.another({ store: { path: storePath } });
      while ((await first.metric('signature_aggregator_l1_index_highest_block')) === 0) await nextTurn();
      while ((await first.metric('signature_aggregator_l1_index_lowest_block')) > 0) await nextTurn();
      expect(await first.metric(READS)).toBeGreaterThan(200);
    }
    await using again = await service.another({ store: { path: storePath } });
    const { body } = await again.get(path);
    const { unsignedMessage } = parseSignedMessage(parseHex(String(body['signedMessage']), 'signedMessage'));
    const call = parseWarpPayload(unsignedMessage.payload);
    const message = call.kind === 'AddressedCall' ? parseL1Message(call.payload) : undefined;
    expect(message).toMatchObject({ kind: 'L1ValidatorRegistration', registered: false });
    // Those that were accepted meanwhile, if any.
    expect(await again.metric(READS).catch(() => 0)).toBeLessThan(4);
  } finally {
    rmSync(storePath, { recursive: true });
  }
});
