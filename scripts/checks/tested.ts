import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../src/http/errors/error-codes.ts';
import { UPSTREAM_ENDPOINTS } from '../../src/proxy/catalogue/upstream-endpoints.ts';
import { describeService } from '../docs/service.ts';
import { settingsTables } from '../docs/settings.ts';
import { unnamedInTests } from '../docs/tested.ts';
import { type CheckResult, ROOT, resultOfProblems, sources } from './project.ts';

/** Tests name every error code, setting, route and endpoint of an upstream. */
export async function checkTested(): Promise<CheckResult> {
  const tests = new Map(
    sources
      .filter((file) => file.startsWith('test/') && !file.startsWith('test/unit/tooling/'))
      .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
  const { routes } = await describeService();
  const settings = settingsTables().tables.flatMap(({ rows }) =>
    rows.map(([name = '']) => name.split('.').at(-1) ?? ''),
  );
  const named = [
    { kind: 'error code', folder: 'test/', names: Object.keys(ERROR_CODES) },
    { kind: 'setting', folder: 'test/unit/config/', names: settings },
    { kind: 'route', folder: 'test/', names: routes.map(({ name }) => name) },
    {
      kind: 'endpoint',
      folder: 'test/integration/proxy/endpoints.test.ts',
      names: UPSTREAM_ENDPOINTS.map(({ operationId }) => operationId),
    },
  ];
  const count = named.reduce((sum, { names }) => sum + names.length, 0);
  return resultOfProblems(unnamedInTests(named, tests), `${count} names in ${tests.size} files`);
}
