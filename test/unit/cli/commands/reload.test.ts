import { expect, test } from 'vitest';
import { createReload } from '../../../../src/cli/commands/reload.ts';
import { parseConfig } from '../../../../src/config/load/load-config.ts';
import type { Config } from '../../../../src/config/settings.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { fileWith } from '../../config/load/config-fixture.ts';

function setUp() {
  const log = createLogLines();
  const state = {
    file: fileWith() as object,
    kept: new Map<string, string>(),
    configs: [] as Config[],
    results: [] as boolean[],
  };
  const load = () => parseConfig(state.file, {}, {});
  const reload = createReload({
    app: {
      async update(config) {
        state.configs.push(config);
        return state.kept;
      },
      reportReload: (isSuccessful) => void state.results.push(isSuccessful),
    },
    logger: log.logger,
    started: load().settings,
    load,
  });
  const lines = () => log.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { state, reload, lines };
}

test('one log line lists applied settings and those that need a restart', async () => {
  const { state, reload, lines } = setUp();
  state.file = fileWith({ log: { level: 'debug' }, bls: { workers: 7 } });
  await reload();
  expect(state.configs[0]?.log.level).toBe('debug');
  expect(lines()).toMatchObject([{ level: 'info', taken: ['log.level'], left: ['bls.workers'] }]);
});

test('an invalid file changes nothing, and its problem is logged', async () => {
  const { state, reload, lines } = setUp();
  state.file = fileWith({ log: { level: 'debug' }, server: { port: -1 } });
  await reload();
  expect(state.configs).toEqual([]);
  expect(state.results).toEqual([false]);
  expect(lines()).toMatchObject([{ level: 'error', problems: expect.stringContaining('server.port') }]);
});

test('rejected addresses of a network are logged, and tried again', async () => {
  const { state, reload, lines } = setUp();
  state.file = fileWith({ log: { level: 'debug' }, network: { infoApi: [{ baseUrl: 'https://other.test' }] } });
  state.kept.set('fuji', 'of another network');
  await reload();
  expect(lines()).toMatchObject([
    { level: 'error', network: 'fuji', reason: 'of another network' },
    { level: 'info', taken: ['log.level'], left: [] },
  ]);
  state.kept.clear();
  await reload();
  expect(lines().at(-1)).toMatchObject({ taken: ['networks.fuji.infoApi'] });
  expect(state.results).toEqual([false, true]);
});

test('concurrent signals reload in turn', async () => {
  const { state, reload, lines } = setUp();
  state.file = fileWith({ log: { level: 'debug' } });
  await Promise.all([reload(), reload()]);
  expect(lines().map(({ taken }) => taken)).toEqual([['log.level'], []]);
});
