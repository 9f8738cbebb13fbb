import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DASHBOARD_FOLDER, dashboardFiles } from '../dashboards/dashboard-files.ts';
import { type CheckResult, filesUnder, ROOT, resultOfProblems, toProjectPath } from './project.ts';

/** deploy/grafana holds what scripts/dashboards says, and nothing else. */
export function checkDashboards(): CheckResult {
  const expected = dashboardFiles();
  const present = filesUnder(join(ROOT, DASHBOARD_FOLDER)).map(toProjectPath);
  return resultOfProblems(
    [
      ...[...expected]
        .filter(([file, text]) => !existsSync(join(ROOT, file)) || readFileSync(join(ROOT, file), 'utf8') !== text)
        .map(([file]) => `${file} is not what scripts/dashboards says: npm run generate`),
      ...present
        .filter((file) => !expected.has(file))
        .map((file) => `${file} is of no dashboard in scripts/dashboards`),
    ],
    `${expected.size} dashboards`,
  );
}
