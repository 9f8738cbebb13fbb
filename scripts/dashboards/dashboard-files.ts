import { DASHBOARDS } from './dashboards.ts';
import { toGrafana } from './grafana.ts';

export const DASHBOARD_FOLDER = 'deploy/grafana';

/** Each file's path in the project, and what is in it. */
export function dashboardFiles(): Map<string, string> {
  return new Map(
    Object.entries(DASHBOARDS).map(([name, dashboard]) => [
      `${DASHBOARD_FOLDER}/${name}`,
      `${JSON.stringify(toGrafana(dashboard), undefined, 2)}\n`,
    ]),
  );
}
