import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UPSTREAM_ENDPOINTS } from '../../src/api/upstream-endpoints.ts';
import { namesIn, readSource } from '../docs/references.ts';
import { untested, untestedRefusals } from '../docs/untested.ts';
import { type CheckResult, ROOT, resultOfProblems, sources } from './project.ts';

/** That tests name every error code, route, endpoint of an upstream and refusal code. */
export async function checkTested(): Promise<CheckResult> {
  const tests = new Map(
    sources
      .filter((file) => file.startsWith('test/') && !file.startsWith('test/unit/tooling/'))
      .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
  const [errorCodes, routes] = await Promise.all([namesIn('error codes'), namesIn('routes')]);
  const endpoints = UPSTREAM_ENDPOINTS.map(({ operationId }) => operationId);
  return resultOfProblems(
    [...untested({ errorCodes, routes, endpoints }, tests), ...untestedRefusals(new Map([...readSource(), ...tests]))],
    `${errorCodes.length} error codes, ${routes.length} routes and ${endpoints.length} endpoints of upstreams, in ${tests.size} files`,
  );
}
