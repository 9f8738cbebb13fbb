// node scripts/pictures.ts: takes the README's picture of the console, of a service on its devnet. Needs Chromium.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startApp } from '../src/app/app.ts';
import { parseConfig } from '../src/config/load/load-config.ts';
import { DEFAULT_NETWORKS } from '../src/config/schema/network-schema.ts';
import { systemClock } from '../src/lib/concurrency/clock.ts';
import { createLogger } from '../src/telemetry/logger.ts';
import { startChromium } from '../test/network/chromium.ts';
import { ROOT } from './checks/project.ts';

const FOLDER = join(ROOT, 'docs', 'pictures');
const START_TIMEOUT_MS = 60_000;
/** After the first answer: about half of the map is lit. */
const FILLING_MS = 330;

mkdirSync(FOLDER, { recursive: true });
const settings = {
  networks: { local: { ...DEFAULT_NETWORKS.local, embedded: { validators: 40 } } },
  server: { port: 0 },
};
const { config } = parseConfig(settings, {}, {});
await using app = await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random });
await app.untilReady(AbortSignal.timeout(START_TIMEOUT_MS));
await using opened = new AsyncDisposableStack();
const browser = await startChromium();
opened.defer(() => browser.close());
const page = await browser.newPage({ viewport: { width: 1_280, height: 1_130 }, colorScheme: 'light' });
await page.goto(app.url);

await page.getByRole('button', { name: 'Try an example' }).click();
await page.getByText('Unsigned Warp message').waitFor();
await page.getByRole('button', { name: 'Collect signatures' }).click();
await page.locator('.weight-map').waitFor();
await page.evaluate('scrollTo(0, 0)');
await page.waitForTimeout(FILLING_MS);
await page.screenshot({ path: join(FOLDER, 'console-sign.png') });
console.log('docs/pictures/console-sign.png');
