import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { loadBackend } from '../../bls/backends/load-backend.ts';
import type { Config } from '../../config/settings.ts';
import { MESSAGE_SCHEMA } from '../../feed/message-schema.ts';
import { FILE_KIND as MESSAGE_FILES } from '../../feed/message-store.ts';
import type { ListenSettings } from '../../http/server/listen-error.ts';
import { isObject } from '../../lib/encoding/is-object.ts';
import { createFolder } from '../../lib/net/create-folder.ts';
import { Exchange } from '../../lib/net/exchange.ts';
import { describeFileError } from '../../lib/net/file-error.ts';
import { type IdentityFiles, openIdentity } from '../../p2p/identity/identity.ts';
import { RECORD_FILES, RECORD_SCHEMA } from '../../record/record-store.ts';
import { checkDatabase, checkStoreFolder, type DatabaseSchema } from '../../store/local/sqlite.ts';
import { VALIDATION_FILES, VALIDATION_SCHEMA } from '../../store/local/validation-store.ts';
import { listenAdvice } from '../io/listen-advice.ts';
import { localUrl } from '../io/local-url.ts';
import { type Check, runCheck } from './check.ts';
import type { OpenedPart } from './facts.ts';

const STARTS_NOT = 'the service, which ends at its start';

type Part = Pick<Check, 'method' | 'advice'> &
  Partial<Pick<Check, 'severity' | 'lost'>> & { readonly name: string; readonly open: () => Promise<void> };

/** Opens what the service opens on this machine, and closes it. Files of a running service are read alone, and its ports are left to it. */
export function openParts(config: Config): Promise<readonly OpenedPart[]> {
  const { identity, store, bls } = config;
  const parts: readonly Part[] = [
    ...(store.path === undefined ? [] : storeParts(store.path, config)),
    ...(identity === undefined ? [] : [identityPart(identity)]),
    ...listenersOf(config).map((listener) => portPart(listener, config)),
    {
      name: 'bls.backend',
      method: `load "${bls.backend}"`,
      advice: 'install its package, or leave the setting out',
      open: async () => void (await loadBackend(bls.backend)),
    },
  ];
  return Promise.all(
    parts.map(async ({ name, open, ...purpose }) => {
      const row = await runCheck({ severity: 'problem', lost: STARTS_NOT, ...purpose, call: open });
      // No wait mends it.
      return { name, ...row, ...(row.outcome === 'unavailable' && { outcome: 'refused' as const }) };
    }),
  );
}

/** Without the messages of the feed, the service starts. */
function storeParts(path: string, { networks }: Config): readonly Part[] {
  const advice = 'name a folder that the service may write to, and no file of another program or version in it';
  const isWatching = networks.some(({ feed }) => feed.chains.length > 0);
  return [
    {
      name: 'store.path',
      method: 'open the store',
      advice,
      async open() {
        withoutNewFolders(path, () => checkStoreFolder(path));
        checkFiles(path, VALIDATION_FILES, VALIDATION_SCHEMA);
        checkFiles(path, RECORD_FILES, RECORD_SCHEMA);
      },
    },
    {
      name: 'store.path',
      method: 'open the messages of the feed',
      severity: isWatching ? 'problem' : 'warning',
      lost: 'the feed, which is stopped; requests are signed',
      advice: 'move the file away; docs/operate.md says what is lost with it',
      open: async () => checkFiles(path, MESSAGE_FILES, MESSAGE_SCHEMA),
    },
  ];
}

/** @throws {StoreError} if a file of this kind cannot be opened */
function checkFiles(path: string, kind: string, schema: DatabaseSchema): void {
  const files = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(path) : [];
  for (const file of files) {
    if (/^(.+?)-\d+(?:-.+)?\.sqlite$/.exec(file)?.[1] === kind) checkDatabase(join(path, file), schema);
  }
}

function identityPart(files: IdentityFiles): Part {
  const { certificatePath, privateKeyPath } = files;
  return {
    name: 'identity',
    method: 'open the identity',
    advice: 'restore the certificate and its key, or let the service create both in a folder that it may write to',
    async open() {
      // The service creates both, so that its NodeID stays.
      if (!existsSync(certificatePath) && !existsSync(privateKeyPath)) {
        for (const path of [privateKeyPath, certificatePath]) withoutNewFolders(dirname(path), tryToWrite);
      } else await openIdentity(files);
    },
  };
}

function tryToWrite(directory: string): void {
  try {
    createFolder(directory);
    rmSync(mkdtempSync(join(directory, '.writable-')), { recursive: true });
  } catch (cause) {
    throw new Error(`${directory} cannot be written: ${describeFileError(cause)}`, { cause });
  }
}

/** Removes the folders that `act` creates, which are empty. */
function withoutNewFolders(path: string, act: (directory: string) => void): void {
  const directory = resolve(path);
  const created: string[] = [];
  for (let at = directory; at !== dirname(at) && !exists(at); at = dirname(at)) created.push(at);
  try {
    act(directory);
  } finally {
    for (const folder of created) if (exists(folder)) rmdirSync(folder);
  }
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // A part of the path is a file.
    return false;
  }
}

interface Listener {
  readonly host: string;
  readonly port: number;
  readonly settings: ListenSettings;
  /** URL at which this service tells its networks, if it is the one that listens. */
  readonly readyUrl: string | undefined;
}

function listenersOf({ server, metrics, networks }: Config): readonly Listener[] {
  const { host } = server;
  const ownUrl = server.ownApi ? localUrl(host, server.port, READY_PATH) : undefined;
  const ports = [
    { name: 'server.port', port: server.ownApi ? server.port : undefined },
    ...networks.flatMap(({ name, goApi }) => [
      { name: `networks.${name}.goApi.apiPort`, port: goApi.apiPort },
      { name: `networks.${name}.goApi.metricsPort`, port: goApi.metricsPort },
    ]),
  ];
  const listeners = ports.map(({ name, port }) => ({
    host,
    port,
    readyUrl: ownUrl,
    settings: { host: 'server.host', port: name },
  }));
  const { host: metricsHost, port: metricsPort = 0 } = metrics;
  const ofMetrics = {
    ...metrics,
    settings: { host: 'metrics.host', port: 'metrics.port' },
    readyUrl: localUrl(metricsHost, metricsPort, READY_PATH),
  };
  // Port 0 is any free one.
  return [...listeners, ofMetrics].flatMap(({ port, ...rest }) => (port ? [{ port, ...rest }] : []));
}

const READY_PATH = '/health/ready';
const READY_TIMEOUT_MS = 5_000;
const MAX_READY_BYTES = 1024 * 1024;

function portPart({ host, port, settings, readyUrl }: Listener, { networks }: Config): Part {
  return {
    name: settings.port,
    method: `listen at ${host}:${port}`,
    advice: 'stop the other program, or take another address',
    async open() {
      const cause = await tryToListen(host, port);
      const isTaken = cause?.code === 'EADDRINUSE';
      if (cause === undefined || (isTaken && readyUrl && (await tellsNetworks(readyUrl, networks)))) return;
      throw new Error(`${cause.message}${listenAdvice({ cause, settings })}`);
    },
  };
}

function tryToListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', done);
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(undefined)));
  });
}

/** Whether a service with the networks of this configuration answers. */
async function tellsNetworks(url: string, networks: Config['networks']): Promise<boolean> {
  await using exchange = new Exchange({ baseUrl: url }, { connections: 1, maxResponseSize: MAX_READY_BYTES });
  try {
    const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
    const { body } = await exchange.send({ method: 'GET', target: '', signal });
    const ready = await body.json();
    const listed = isObject(ready) && Array.isArray(ready['networks']) ? (ready['networks'] as unknown[]) : [];
    const names = new Set(listed.map((one) => isObject(one) && one['name']));
    return networks.every(({ name }) => names.has(name));
  } catch {
    return false;
  }
}
