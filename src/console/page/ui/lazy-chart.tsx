import type { ComponentChild, FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type LineChart from './line-chart.tsx';

type Props = Parameters<typeof LineChart>[0];
let loaded: FunctionComponent<Props> | undefined;

/** The chart library is half of all that the page loads, and only two views have charts. */
export function Chart(props: Props): ComponentChild {
  const [Component, setComponent] = useState<FunctionComponent<Props> | undefined>(() => loaded);
  useEffect(() => {
    if (Component !== undefined) return;
    void import('./line-chart.tsx').then((module) => {
      loaded = module.default as FunctionComponent<Props>;
      setComponent(() => loaded);
    });
  }, []);
  return Component === undefined ? <div class="chart chart-place" /> : <Component {...props} />;
}
