/** A dashboard as it is thought of; {@link toGrafana} writes it down as Grafana wants it. */
export interface Dashboard {
  /** Names the file, and the dashboard in links: it stays when the title changes. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Beside the data source and the network, which all of them have. */
  readonly variables?: readonly Variable[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

/** Values to choose from, which are those of a label of a metric. */
export interface Variable {
  readonly name: string;
  readonly label: string;
  readonly metric: string;
  readonly ofLabel: string;
  /** The whole of the metric's labels, as a selector. */
  readonly where?: string;
}

export interface Panel {
  readonly title: string;
  /** What it means, and what to do where it looks wrong. */
  readonly description: string;
  readonly unit: 'short' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'ops' | 'Bps' | 'bool';
  readonly kind?: 'timeseries' | 'stat' | 'table';
  readonly queries: readonly Query[];
  /** Lines lie on top of each other, as parts of a whole. */
  readonly isStacked?: boolean;
  /** For what has a highest value, such as a ratio. */
  readonly max?: number;
}

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
const COLUMNS = 24;
const PANEL_HEIGHT = 8;
const PANELS_IN_ROW = 3;

export function toGrafana({ uid, title, description, variables = [], rows }: Dashboard): object {
  return {
    uid,
    title,
    description,
    tags: ['signature-aggregator'],
    schemaVersion: 39,
    editable: true,
    timezone: 'browser',
    time: { from: 'now-3h', to: 'now' },
    refresh: '30s',
    links: [
      {
        type: 'dashboards',
        title: 'Signature aggregator',
        tags: ['signature-aggregator'],
        asDropdown: true,
        keepTime: true,
      },
    ],
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        ...[NETWORK, ...variables].map(toVariable),
      ],
    },
    panels: toPanels(rows),
  };
}

const NETWORK: Variable = {
  name: 'network',
  label: 'Network',
  metric: 'signature_aggregator_network_status',
  ofLabel: 'network',
};

function toVariable({ name, label, metric, ofLabel, where = '' }: Variable): object {
  const query = `label_values(${metric}${where}, ${ofLabel})`;
  return {
    ...{ name, label, type: 'query', datasource: DATASOURCE, refresh: 2, sort: 1 },
    query: { query, refId: name },
    includeAll: true,
    multi: true,
    current: { text: 'All', value: '$__all' },
  };
}

/** Rows from top to bottom, and in each its panels from left to right. */
function toPanels(rows: Dashboard['rows']): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: inRow } of rows) {
    panels.push({ id: panels.length + 1, type: 'row', title, gridPos: { h: 1, w: COLUMNS, x: 0, y } });
    y += 1;
    const w = COLUMNS / Math.min(PANELS_IN_ROW, inRow.length);
    for (const [index, panel] of inRow.entries()) {
      const column = index % PANELS_IN_ROW;
      if (index > 0 && column === 0) y += PANEL_HEIGHT;
      panels.push(toPanel(panel, panels.length + 1, { h: PANEL_HEIGHT, w, x: column * w, y }));
    }
    y += PANEL_HEIGHT;
  }
  return panels;
}

function toPanel(panel: Panel, id: number, gridPos: object): object {
  const { title, description, unit, kind = 'timeseries', queries, isStacked = false, max } = panel;
  const isTimeseries = kind === 'timeseries';
  return {
    ...{ id, type: kind, title, description, gridPos, datasource: DATASOURCE },
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(max !== undefined && { max }),
        ...(isTimeseries && {
          custom: {
            fillOpacity: isStacked ? 30 : 10,
            showPoints: 'never',
            stacking: { mode: isStacked ? 'normal' : 'none' },
          },
        }),
      },
      overrides: [],
    },
    options: isTimeseries
      ? { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } }
      : { ...(kind === 'stat' && { reduceOptions: { calcs: ['lastNotNull'] }, textMode: 'value_and_name' }) },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(kind === 'table' && { format: 'table', instant: true }),
      ...(kind === 'stat' && { instant: true }),
    })),
  };
}
