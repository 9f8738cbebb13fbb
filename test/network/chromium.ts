import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
/** A name that is no loopback to a browser, which trusts pages of loopback more than others. */
export const OTHER_HOST = 'service.test';

/** A browser of this machine, which reaches loopback only, by its address, as localhost and as {@link OTHER_HOST}. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--disable-sync',
      `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost`,
    ],
  });
}

function findChromium(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(
    `no Chromium here to test with: ${NAMES.join(', ')} are not in the PATH; on Debian it is installed by ` +
      '"apt-get install --no-install-recommends chromium"',
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
