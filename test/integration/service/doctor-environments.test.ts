import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, test } from 'vitest';
import { startApp } from '../../../src/app/app.ts';
import { diagnose, exitCodeOf } from '../../../src/cli/doctor/doctor.ts';
import { formatReport } from '../../../src/cli/doctor/report-text.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createIdentity, encodePrivateKey, identityTlsOptions } from '../../../src/p2p/identity/identity.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { setBehaviour, startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { type GatewayFault, rejection, result, startGateway } from '../../devnet/gateway.ts';
import { GATEWAY_FAULTS } from '../../devnet/gateway-faults.ts';
import { runCommand } from '../../unit/cli/run-command.ts';
import { holdClosedPort } from '../closed-port.ts';

/** Broken environments, each with what `doctor` makes of it, and what the service then does: doctor never says that a service works that ends. */

const TIMEOUT_MS = 60_000;
const LIMITS = { maxConnectMs: 20_000, quietMs: 1_000 };
const FUJI_ID = 5;
const VALIDATORS = 5;
const folder = mkdtempSync(join(tmpdir(), 'doctor-environments-'));
const devnet = await startFaultyDevnet({ validators: VALIDATORS, clock: systemClock, logger: createLogger('silent') });
devnet.emitMessages(1);
const l1 = devnet.subnets.l1.subnetID;
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await devnet[Symbol.asyncDispose]();
});

type Served =
  /** The process ends with this code. */
  | 'exits 1'
  | 'exits 2'
  /** The status of the network. */
  | 'starting'
  | 'up'
  | 'degraded'
  | 'down';

interface Environment {
  /** Sections of the configuration, beside `networks`. */
  readonly sections?: Readonly<Record<string, object>>;
  /** Settings of the network. */
  readonly network?: object;
  /** The name of the network; `mine` by default. */
  readonly name?: string;
  readonly fileLimit?: number;
}

interface Row {
  readonly prepare: (opened: AsyncDisposableStack) => Promise<Environment> | Environment;
  readonly code: 0 | 1 | 3;
  readonly served: Served;
  /** Severity and subject of the only finding. */
  readonly subject: string;
  readonly cause: RegExp;
  readonly cure: RegExp;
}

let made = 0;
function newFolder(): string {
  made += 1;
  const path = join(folder, String(made));
  mkdirSync(path);
  return path;
}

function newFile(content: string): string {
  const path = join(newFolder(), 'file');
  writeFileSync(path, content);
  return path;
}

async function listenRaw(opened: AsyncDisposableStack, onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer(onSocket).listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(async () => void (await new Promise((done) => server.close(done))));
  return (server.address() as AddressInfo).port;
}

const takePort = (opened: AsyncDisposableStack): Promise<number> => listenRaw(opened, (socket) => socket.destroy());

const apiOf = (baseUrl: string) => ({ pChainApi: [{ baseUrl }] });

async function behind(opened: AsyncDisposableStack, fault: GatewayFault): Promise<Environment> {
  return { network: apiOf(opened.use(await startGateway(devnet.apiUrl, fault)).url) };
}

/** An HTTPS server whose certificate only it knows. */
async function httpsPort(opened: AsyncDisposableStack): Promise<number> {
  const server = createHttpsServer(
    identityTlsOptions(createIdentity()),
    (_request, response) => void response.end('{}'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return (server.address() as AddressInfo).port;
}

/** Answers plain HTTP as Go's server does at a port of TLS. */
async function tlsPortOfGo(opened: AsyncDisposableStack): Promise<number> {
  const answer = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';
  return await listenRaw(opened, (socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(answer));
  });
}

/** A file in place of a database of the network. */
function storeWith(write: (path: string) => void, kind = 'l1-validations'): Environment {
  const path = newFolder();
  write(join(path, `${kind}-${devnet.networkID}-mine.sqlite`));
  return { sections: { store: { path } } };
}

const damage = (path: string): void => writeFileSync(path, 'no database '.repeat(100));

const ROWS: Readonly<Record<string, Row>> = {
  'a store below a file': {
    prepare: () => ({ sections: { store: { path: join(newFile(''), 'store') } } }),
    code: 1,
    served: 'exits 2',
    subject: 'problem store.path',
    cause: /open the store: refused: cannot open the store at .*a part of its path is a file/,
    cure: /a folder that the service may write to/,
  },
  'a store with a damaged file': {
    prepare: () => storeWith(damage),
    code: 1,
    served: 'exits 2',
    subject: 'problem store.path',
    cause: /file is not a database \(another file is in its place; move it away\)/,
    cure: /no file of another program or version/,
  },
  'a damaged file of the feed': {
    prepare: () => ({ ...storeWith(damage, 'feed-messages'), network: { feed: { chains: [{ blockchainId: 'C' }] } } }),
    code: 1,
    served: 'up',
    subject: 'problem store.path',
    cause: /open the messages of the feed: refused: .*file is not a database.*Without: the feed, which is stopped/,
    cure: /move the file away/,
  },
  'a damaged file of messages that no chain adds to': {
    prepare: () => storeWith(damage, 'feed-messages'),
    code: 0,
    served: 'up',
    subject: 'warning store.path',
    cause: /open the messages of the feed: .*requests are signed/,
    cure: /move the file away/,
  },
  'a damaged file of the record': {
    prepare: () => storeWith(damage, 'validator-record'),
    code: 1,
    served: 'exits 2',
    subject: 'problem store.path',
    cause: /open the store: refused: .*file is not a database/,
    cure: /no file of another program or version/,
  },
  'a store of another version': {
    prepare: () =>
      storeWith((path) => {
        using database = new DatabaseSync(path);
        database.exec('PRAGMA user_version = 999');
      }),
    code: 1,
    served: 'exits 2',
    subject: 'problem store.path',
    cause: /it has format 999/,
    cure: /no file of another program or version/,
  },
  'a key that is not that of its certificate': {
    prepare() {
      const directory = newFolder();
      writeFileSync(join(directory, 'staker.crt'), createIdentity().certificatePem);
      writeFileSync(join(directory, 'staker.key'), encodePrivateKey(createIdentity()));
      return { sections: { identity: { directory } } };
    },
    code: 1,
    served: 'exits 2',
    subject: 'problem identity',
    cause: /the private key .* is not the one of the certificate/,
    cure: /restore the certificate and its key/,
  },
  'a folder for the identity that cannot be created': {
    prepare: () => ({ sections: { identity: { directory: join(newFile(''), 'identity') } } }),
    code: 1,
    served: 'exits 2',
    subject: 'problem identity',
    cause: /a part of its path is a file/,
    cure: /a folder that it may write to/,
  },
  'a port that another program has': {
    prepare: async (opened) => ({ sections: { server: { port: await takePort(opened) } } }),
    code: 1,
    served: 'exits 1',
    subject: 'problem server.port',
    cause: /EADDRINUSE.*another program listens on this port; take another one by --port or the setting server\.port/,
    cure: /stop the other program/,
  },
  'a port for metrics that another program has': {
    prepare: async (opened) => ({ sections: { metrics: { port: await takePort(opened) } } }),
    code: 1,
    served: 'exits 1',
    subject: 'problem metrics.port',
    cause: /EADDRINUSE.*the setting metrics\.port/,
    cure: /stop the other program/,
  },
  "a port of the Go aggregator's API that another program has": {
    prepare: async (opened) => ({ network: { goApi: { apiPort: await takePort(opened) } } }),
    code: 1,
    served: 'exits 1',
    subject: 'problem networks.mine.goApi.apiPort',
    cause: /EADDRINUSE.*the setting networks\.mine\.goApi\.apiPort/,
    cure: /stop the other program/,
  },
  'an address that this machine does not have': {
    prepare: async (opened) => {
      const { port } = opened.use(await holdClosedPort());
      return { sections: { server: { host: '192.0.2.1', port } } };
    },
    code: 1,
    served: 'exits 1',
    subject: 'problem server.port',
    cause: /EADDRNOTAVAIL.*this machine has no such address/,
    cure: /take another address/,
  },
  'the API of a private network under the name of a public one': {
    prepare: () => ({ name: 'fuji', network: { allowPrivateAddresses: true } }),
    code: 1,
    served: 'exits 2',
    subject: 'problem fuji pChainApi[0], infoApi[0]',
    cause: /it belongs to network ID \d+, and fuji has 5: the service refuses it/,
    cure: /replace it by an endpoint of this network/,
  },
  'the API of a public network under another name': {
    prepare: (opened) =>
      behind(opened, (call, forward) =>
        call.method === 'info.getNetworkID' ? result(call, { networkID: String(FUJI_ID) }) : forward(),
      ),
    code: 1,
    served: 'exits 2',
    subject: 'problem mine pChainApi[0], infoApi[0]',
    cause: /its info API belongs to fuji/,
    cure: /call the network fuji/,
  },
  'a node that is down, or a wrong port': {
    prepare: async (opened) => ({ network: apiOf(`http://127.0.0.1:${opened.use(await holdClosedPort()).port}`) }),
    code: 1,
    served: 'down',
    subject: 'problem mine pChainApi[0], infoApi[0]',
    cause: /it serves no call: nothing listens at its address: the node is down, or the port is wrong/,
    cure: /start the node, or correct host and port/,
  },
  'a node that hangs': {
    prepare: (opened) => behind(opened, () => new Promise(() => undefined)),
    code: 3,
    served: 'down',
    subject: 'passing mine pChainApi[0], infoApi[0]',
    cause: /it is connected, and does not answer: the node hangs, or is overloaded/,
    cure: /restart the node/,
  },
  'a certificate of an unknown authority': {
    prepare: async (opened) => ({ network: apiOf(`https://127.0.0.1:${await httpsPort(opened)}`) }),
    code: 1,
    served: 'down',
    subject: 'problem mine pChainApi[0], infoApi[0]',
    cause: /no authority that this machine trusts has signed its certificate/,
    cure: /NODE_EXTRA_CA_CERTS/,
  },
  'https to a port of http': {
    prepare: () => ({ network: apiOf(devnet.apiUrl.replace('http:', 'https:')) }),
    code: 1,
    served: 'down',
    subject: 'problem mine pChainApi[0], infoApi[0]',
    cause: /it does not speak TLS at this port/,
    cure: /write http:/,
  },
  'http to a port of https': {
    prepare: async (opened) => ({ network: apiOf(`http://127.0.0.1:${await tlsPortOfGo(opened)}`) }),
    code: 1,
    served: 'down',
    subject: 'problem mine pChainApi[0], infoApi[0]',
    cause: /it does not speak plain HTTP at this port/,
    cure: /write https:/,
  },
  'a wrong path': {
    prepare: () => ({ network: apiOf(`${devnet.apiUrl}/nothing/here`) }),
    code: 1,
    served: 'down',
    subject: 'problem mine pChainApi[0], infoApi[0]',
    cause: /it serves no call: .*HTTP status 404/,
    cure: /check its address and key/,
  },
  'a limit of calls': {
    prepare: (opened) => behind(opened, GATEWAY_FAULTS['HTTP 429 with Retry-After']),
    code: 3,
    served: 'down',
    subject: 'passing mine pChainApi[0], infoApi[0]',
    cause: /HTTP status 429/,
    cure: /wait, or add another endpoint/,
  },
  'getValidatorsAt refused': {
    prepare: (opened) =>
      behind(opened, (call, forward) =>
        call.method === 'platform.getValidatorsAt' ? rejection(call, -32_601, 'not on this endpoint') : forward(),
      ),
    code: 1,
    served: 'down',
    subject: 'problem mine',
    cause: /nothing can be signed \(platform\.getValidatorsAt: refused: .*not on this endpoint/,
    cure: /add a node of your own/,
  },
  'private addresses that may not be dialled': {
    prepare: () => ({ network: { allowPrivateAddresses: false } }),
    code: 1,
    served: 'starting',
    subject: 'problem mine primary network',
    cause: /0 % of the weight is reached/,
    cure: /set networks\.mine\.allowPrivateAddresses to true/,
  },
  'a tracked L1 without its quorum': {
    prepare: (opened) => {
      // These two validate the L1 alone.
      for (const validator of [devnet.validator(VALIDATORS), devnet.validator(VALIDATORS + 1)]) {
        setBehaviour(validator, { kind: 'hanging TLS' });
        opened.defer(() => setBehaviour(validator, { kind: 'normal' }));
      }
      return { network: { trackedSubnetIds: [l1] } };
    },
    // And `degraded` a minute later.
    code: 1,
    served: 'starting',
    subject: `problem mine subnet ${l1}`,
    cause: /% of the weight is reached, and 67 % is needed: .*these nodes hang/,
    cure: /stop the service and run doctor --own-identity/,
  },
  'the RPC of a watched chain away': {
    prepare: async (opened) => {
      const baseUrl = `http://127.0.0.1:${opened.use(await holdClosedPort()).port}`;
      return { network: { chainRpc: { C: { baseUrl } }, feed: { chains: [{ blockchainId: 'C' }] } } };
    },
    code: 1,
    served: 'up',
    subject: 'problem mine chainRpc.C',
    cause: /nothing listens at its address.*the feed of this chain reads no block/,
    cure: /start the node/,
  },
  'one of two RPCs of a watched chain away': {
    prepare: async (opened) => {
      const away = { baseUrl: `http://127.0.0.1:${opened.use(await holdClosedPort()).port}` };
      const works = { baseUrl: `${devnet.apiUrl}/ext/bc/C/rpc` };
      return { network: { chainRpc: { C: [works, away] }, feed: { chains: [{ blockchainId: 'C' }] } } };
    },
    code: 0,
    served: 'up',
    subject: 'warning mine chainRpc.C[1]',
    cause: /it serves no call, and another endpoint does: nothing listens at its address/,
    cure: /start the node/,
  },
  'the web socket of a watched chain away': {
    prepare: async (opened) => {
      const webSocket = `ws://127.0.0.1:${opened.use(await holdClosedPort()).port}`;
      return { network: { feed: { chains: [{ blockchainId: 'C', webSocket }] } } };
    },
    code: 0,
    served: 'up',
    subject: 'warning mine feed.chains C webSocket',
    cause: /eth_subscribe newHeads: unavailable: connect ECONNREFUSED .*Without: new blocks as they come/,
    cure: /check its host, port, path and key/,
  },
  'an RPC without logs': {
    prepare: async (opened) => {
      const { network } = await behind(opened, (call, forward) =>
        call.method === 'eth_getLogs' ? rejection(call, -32_601, 'no logs here') : forward(),
      );
      return { network: { ...network, feed: { chains: [{ blockchainId: 'C' }] } } };
    },
    code: 0,
    served: 'up',
    subject: 'warning mine pChainApi[0], infoApi[0]',
    cause: /eth_getLogs \(feed of the C-Chain\): refused: .*no logs here.*reads them one by one/,
    cure: /add a node of your own/,
  },
  'Redis away': {
    prepare: async (opened) => {
      const { port } = opened.use(await holdClosedPort());
      return { sections: { store: { sharedUrl: `redis://127.0.0.1:${port}`, sharedSecret: 's'.repeat(32) } } };
    },
    code: 0,
    served: 'up',
    subject: 'warning Redis',
    cause: /connect, and write a key: nothing listens.*each works alone/,
    cure: /start the node|check store\.sharedUrl/,
  },
  'the clock of an API two minutes behind': {
    prepare: (opened) =>
      behind(opened, async (_call, forward) => ({
        ...(await forward()),
        headers: { date: new Date(systemClock.now() - 120_000).toUTCString() },
      })),
    code: 0,
    served: 'up',
    subject: 'warning mine pChainApi[0], infoApi[0]',
    cause: /its clock is (119|120|121) s behind its nodes/,
    cure: /synchronise the clock of its node/,
  },
  'calls that take long': {
    prepare: (opened) =>
      behind(opened, async (_call, forward) => {
        const reply = await forward();
        await new Promise((done) => void setTimeout(done, 1_100));
        return reply;
      }),
    code: 0,
    served: 'up',
    subject: 'warning mine pChainApi[0], infoApi[0]',
    cause: /half of its calls took 1\d\d\d ms or longer/,
    cure: /name an endpoint nearer/,
  },
  'a low limit of open files': {
    prepare: () => ({ fileLimit: 64 }),
    code: 1,
    served: 'up',
    subject: 'problem file descriptors',
    cause: /this shell allows 64 open files, and this configuration needs 210/,
    cure: /ulimit -n 210/,
  },
};

function settingsOf({ sections, network, name = 'mine' }: Environment) {
  return { server: { port: 0 }, networks: { [name]: { ...apiOf(devnet.apiUrl), ...network } }, ...sections };
}

test.each(Object.entries(ROWS))('%s', { timeout: TIMEOUT_MS }, async (_, row) => {
  await using opened = new AsyncDisposableStack();
  const environment = await row.prepare(opened);
  const { fileLimit } = environment;
  const settings = settingsOf(environment);
  const { config } = parseConfig(settings, {}, {});
  const report = await diagnose(config, {}, { ...LIMITS, ...(fileLimit !== undefined && { fileLimit }) });
  const found = report.findings.filter(({ severity }) => severity !== 'note');
  expect(found.map(({ severity, subject }) => `${severity} ${subject}`)).toEqual([row.subject]);
  const [{ text, advice } = { text: '', advice: '' }] = found;
  expect({ text, advice: `${text} → ${advice}` }).toEqual({
    text: expect.stringMatching(row.cause),
    advice: expect.stringMatching(row.cure),
  });
  const code = exitCodeOf(report);
  expect({ code, saysWorks: formatReport(report).includes('the service works') }).toEqual({
    code: row.code,
    saysWorks: false,
  });
  await expectServed(row.served, settings, fileLimit);
});

/** What the service does in the environment. */
async function expectServed(served: Served, settings: object, fileLimit: number | undefined): Promise<void> {
  if (served.startsWith('exits')) {
    const { code } = await runCommand(['--config', newFile(JSON.stringify(settings))]);
    expect(`exits ${code}`).toBe(served);
    return;
  }
  const logger = createLogger('silent');
  const { config } = parseConfig(settings, {}, {});
  const limits = fileLimit === undefined ? {} : { fileLimit };
  await using app = await startApp({ config, logger, limits, clock: systemClock, random: Math.random });
  const statusOf = async (): Promise<string | undefined> => {
    const { networks } = (await (await fetch(`${app.url}/health/ready`)).json()) as { networks: { status: string }[] };
    return networks[0]?.status;
  };
  await expect.poll(statusOf).toBe(served);
}

test('a port that the same service has is no finding', { timeout: TIMEOUT_MS }, async () => {
  const path = newFolder();
  const settings = { ...settingsOf({}), store: { path } };
  const { config } = parseConfig(settings, {}, {});
  await using app = await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random });
  const running = parseConfig({ ...settings, server: { port: Number(new URL(app.url).port) } }, {}, {});
  const { findings } = await diagnose(running.config, {}, LIMITS);
  expect(findings.filter(({ severity }) => severity !== 'note')).toEqual([]);
});
