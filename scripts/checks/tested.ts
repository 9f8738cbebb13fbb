import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UPSTREAM_ENDPOINTS } from '../../src/proxy/catalogue/upstream-endpoints.ts';
import { namesIn, readSource } from '../docs/references.ts';
import { routesOfService } from '../docs/routes-of-service.ts';
import { untested, untestedRefusals } from '../docs/untested.ts';
import { settingNames } from '../settings-docs.ts';
import { type CheckResult, ROOT, resultOfProblems, sources } from './project.ts';

/** That tests name every error code, setting, route, endpoint of an upstream and refusal code. */
export async function checkTested(): Promise<CheckResult> {
  const tests = new Map(
    sources
      .filter((file) => file.startsWith('test/') && !file.startsWith('test/unit/tooling/'))
      .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
  const [errorCodes, routes] = await Promise.all([namesIn('error codes'), namesIn('routes')]);
  const endpoints = UPSTREAM_ENDPOINTS.map(({ operationId }) => operationId);
  const served = await routesOfService();
  const operations = served.flatMap(({ name, operationID }) =>
    operationID === undefined || name.includes(' /devnet/') ? [] : [operationID],
  );
  const settings = settingNames();
  return resultOfProblems(
    [
      ...untested({ errorCodes, settings, routes, operations, endpoints }, tests),
      ...untestedRefusals(new Map([...readSource(), ...tests])),
    ],
    `${errorCodes.length} error codes, ${settings.length} settings, ${routes.length} routes, ${endpoints.length} endpoints, in ${tests.size} files`,
  );
}
