import { type ComponentChild, type FunctionComponent, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type LineChart from './line-chart.ts';

type Props = Parameters<typeof LineChart>[0];
let loaded: FunctionComponent<Props> | undefined;

/** The chart library is half of all that the page loads, and only two views have charts. */
export function Chart(props: Props): ComponentChild {
  const [component, setComponent] = useState<FunctionComponent<Props> | undefined>(() => loaded);
  useEffect(() => {
    if (component !== undefined) return;
    void import('./line-chart.ts').then((module) => {
      loaded = module.default as FunctionComponent<Props>;
      setComponent(() => loaded);
    });
  }, []);
  return component === undefined ? h('div', { class: 'chart chart-place' }) : h(component, props);
}
