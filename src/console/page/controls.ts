import { type ComponentChild, type ComponentChildren, h } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** The small parts that all views are made of. */

export function Card(props: {
  title: ComponentChildren;
  aside?: ComponentChildren;
  children?: ComponentChildren;
  className?: string;
  level?: 2 | 3;
}): ComponentChild {
  const { title, aside, children, className = '', level = 2 } = props;
  return h('section', { class: `card ${className}` }, [
    h('header', { class: 'card-head' }, [h(`h${level}`, { class: 'card-title' }, title), aside]),
    children,
  ]);
}

/** A name, its value, a note below it, and perhaps the class of its colour. */
export type Figure = readonly [name: string, value: ComponentChildren, note: string, tone?: string];

export function Figures({ figures }: { figures: readonly Figure[] }): ComponentChild {
  return h(
    'dl',
    { class: 'figures' },
    figures.map(([name, value, note, tone]) =>
      h('div', { key: name, class: tone ?? '' }, [
        h('dt', null, name),
        h('dd', null, [h('strong', null, value), h('span', { class: 'muted' }, note)]),
      ]),
    ),
  );
}

const COPIED_MS = 1_600;

/** Browsers give the clipboard to pages of https and loopback only; elsewhere the text is selected, so that Ctrl+C takes it. */
export function CopyButton({ text, what }: { text: string; what: string }): ComponentChild {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    setState((await writeClipboard(text)) ? 'copied' : 'failed');
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState('idle'), COPIED_MS);
  };
  const label = { idle: 'Copy', copied: 'Copied', failed: 'Select and press Ctrl+C' }[state];
  return h(
    'button',
    {
      type: 'button',
      class: `button small ${state === 'copied' ? 'done' : ''}`,
      onClick: () => void copy(),
      'aria-label': `${label}: ${what}`,
    },
    label,
  );
}

async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** As it was done before there was the API, which plain HTTP still needs. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}

export function DownloadButton({ text, name, label }: { text: string; name: string; label: string }): ComponentChild {
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    const link = document.createElement('a');
    Object.assign(link, { href: url, download: name });
    link.click();
    URL.revokeObjectURL(url);
  };
  return h('button', { type: 'button', class: 'button small', onClick: download }, label);
}

/** A block of text to take along. Long ones scroll in their own box. */
export function CodeBlock({ text, what, download }: { text: string; what: string; download?: string }): ComponentChild {
  return h('div', { class: 'code-block' }, [
    h('div', { class: 'code-actions' }, [
      h(CopyButton, { text, what }),
      download !== undefined && h(DownloadButton, { text, name: download, label: 'Download' }),
    ]),
    h('pre', { tabIndex: 0, role: 'region', 'aria-label': what }, h('code', null, text)),
  ]);
}

export interface Tab {
  readonly name: string;
  readonly content: () => ComponentChildren;
}

/** Arrow keys go from tab to tab, as readers of screens expect it. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }): ComponentChild {
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const current = Math.min(chosen, tabs.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowRight: current + 1,
      ArrowLeft: current - 1,
      Home: 0,
      End: tabs.length - 1,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const index = (next + tabs.length) % tabs.length;
    setChosen(index);
    list.current?.querySelectorAll<HTMLButtonElement>('[role=tab]')[index]?.focus();
  };
  return h('div', { class: 'tabs' }, [
    h(
      'div',
      { role: 'tablist', 'aria-label': label, class: 'tab-list', ref: list, onKeyDown },
      tabs.map(({ name }, index) =>
        h(
          'button',
          {
            type: 'button',
            role: 'tab',
            key: name,
            id: `${id}-tab-${index}`,
            'aria-selected': index === current,
            'aria-controls': `${id}-panel`,
            tabIndex: index === current ? 0 : -1,
            onClick: () => setChosen(index),
          },
          name,
        ),
      ),
    ),
    h(
      'div',
      { role: 'tabpanel', id: `${id}-panel`, 'aria-labelledby': `${id}-tab-${current}`, class: 'tab-panel' },
      tabs[current]?.content(),
    ),
  ]);
}

export function Badge({
  tone,
  children,
}: {
  tone: 'good' | 'warn' | 'bad' | 'plain' | 'info';
  children?: ComponentChildren;
}): ComponentChild {
  return h('span', { class: `badge ${tone}` }, children);
}

export function Field(props: {
  label: string;
  hint?: ComponentChildren;
  children: (id: string, describedBy: string | undefined) => ComponentChildren;
}): ComponentChild {
  const id = useId();
  const { label, hint, children } = props;
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return h('div', { class: 'field' }, [
    h('label', { for: id }, label),
    children(id, hintId),
    hint !== undefined && h('p', { class: 'hint', id: hintId }, hint),
  ]);
}

/** Name and value, one below the other, as long as the list is. */
export function Facts({
  rows,
}: {
  rows: readonly (readonly [string, ComponentChildren] | undefined | false)[];
}): ComponentChild {
  const shown = rows.filter((row) => row !== undefined && row !== false);
  return h(
    'dl',
    { class: 'facts' },
    shown.map(([name, value]) => h('div', { key: name }, [h('dt', null, name), h('dd', null, value)])),
  );
}

/** A value to compare and to copy: an ID, an address, a hash. */
export function Id({ value, what }: { value: string; what: string }): ComponentChild {
  return h('span', { class: 'id' }, [h('code', null, value), h(CopyButton, { text: value, what })]);
}

/** Asks again every so often while it is shown and the tab is looked at. */
export function usePolled<T>(
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number,
  keys: readonly unknown[],
): { readonly value: T | undefined; readonly error: unknown; readonly reload: () => void } {
  const [state, setState] = useState<{ value: T | undefined; error: unknown }>({ value: undefined, error: undefined });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const value = await load(leaving.signal);
          if (!leaving.signal.aborted) setState({ value, error: undefined });
        } catch (error) {
          if (!leaving.signal.aborted) setState(({ value }) => ({ value, error }));
        }
      }
      if (!leaving.signal.aborted) timer = setTimeout(() => void ask(), everyMs);
    };
    void ask();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [...keys, turn]);
  useEffect(() => setState({ value: undefined, error: undefined }), [...keys]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
