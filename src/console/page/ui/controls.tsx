import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type IdKind, useSession } from '../session.ts';

export function Card(props: {
  title: ComponentChildren;
  aside?: ComponentChildren;
  children?: ComponentChildren;
  className?: string;
}): ComponentChild {
  const { title, aside, children, className = '' } = props;
  return (
    <section class={`card ${className}`}>
      <header class="card-head">
        <h2 class="card-title">{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** A name, its value, a note below it, and the class of its colour. */
export type Figure = readonly [name: string, value: ComponentChildren, note: ComponentChildren, tone?: string];

export function Figures({ figures }: { figures: readonly Figure[] }): ComponentChild {
  return (
    <dl class="figures">
      {figures.map(([name, value, note, tone]) => (
        <div key={name} class={tone ?? ''}>
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong>
            <span class="muted">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A colour, by the end of its variable `--cell-…` in the style sheet. */
export function Swatch({ colour, isRound = false }: { colour: string; isRound?: boolean }): ComponentChild {
  return (
    <span class={`swatch ${isRound ? 'round' : ''}`} style={{ background: `var(--cell-${colour})` }} aria-hidden />
  );
}

interface LegendProps {
  readonly items: readonly (readonly [colour: string, name: ComponentChildren, note?: string])[];
}

export function Legend({ items }: LegendProps): ComponentChild {
  return (
    <ul class="legend">
      {items.map(([colour, name, note]) => (
        <li key={colour}>
          <Swatch colour={colour} />
          {name}
          {note !== undefined && <span class="muted">{` ${note}`}</span>}
        </li>
      ))}
    </ul>
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
  return (
    <button
      type="button"
      class={`button small ${state === 'copied' ? 'done' : ''}`}
      onClick={() => void copy()}
      aria-label={`${label}: ${what}`}
    >
      {label}
    </button>
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

/** Plain HTTP has no clipboard API. */
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
  return (
    <button type="button" class="button small" onClick={download}>
      {label}
    </button>
  );
}

export function CodeBlock({ text, what, download }: { text: string; what: string; download?: string }): ComponentChild {
  return (
    <div class="code-block">
      <div class="code-actions">
        <CopyButton text={text} what={what} />
        {download !== undefined && <DownloadButton text={text} name={download} label="Download" />}
      </div>
      <pre tabIndex={0} role="region" aria-label={what}>
        <code>{text}</code>
      </pre>
    </div>
  );
}

interface Tab {
  readonly name: string;
  readonly content: () => ComponentChildren;
}

/** Arrow keys go from tab to tab (WAI-ARIA, Tabs pattern). */
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
  return (
    <div>
      <div role="tablist" aria-label={label} class="tab-list" ref={list} onKeyDown={onKeyDown}>
        {tabs.map(({ name }, index) => (
          <button
            type="button"
            role="tab"
            key={name}
            id={`${id}-tab-${index}`}
            aria-selected={index === current}
            aria-controls={`${id}-panel`}
            tabIndex={index === current ? 0 : -1}
            onClick={() => setChosen(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${current}`} class="tab-panel">
        {tabs[current]?.content()}
      </div>
    </div>
  );
}

export function Badge({
  tone,
  children,
}: {
  tone: 'good' | 'warn' | 'bad' | 'plain' | 'info';
  children?: ComponentChildren;
}): ComponentChild {
  return <span class={`badge ${tone}`}>{children}</span>;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
}

function Field(props: FieldProps & { children: (id: string, describedBy: string | undefined) => ComponentChildren }) {
  const id = useId();
  const { label, hint, children } = props;
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hintId)}
      {hint !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}

export function TextField(
  props: FieldProps & {
    value: string;
    onValue: (value: string) => void;
    placeholder?: string;
    type?: 'text' | 'search' | 'password' | 'number';
  },
): ComponentChild {
  const { label, hint, value, onValue, placeholder, type = 'text' } = props;
  return (
    <Field
      label={label}
      hint={hint}
      children={(id, describedBy) => (
        <input
          id={id}
          type={type as 'text'}
          value={value}
          placeholder={placeholder}
          spellcheck={false}
          autocomplete="off"
          aria-describedby={describedBy}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    />
  );
}

export function SelectField<Value extends string>(
  props: FieldProps & {
    value: Value;
    options: readonly (readonly [Value, string])[];
    onValue: (value: Value) => void;
  },
): ComponentChild {
  const { label, hint, value, options, onValue } = props;
  return (
    <Field
      label={label}
      hint={hint}
      children={(id, describedBy) => (
        <select
          id={id}
          value={value}
          aria-describedby={describedBy}
          onChange={(event) => onValue(event.currentTarget.value as Value)}
        >
          {options.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      )}
    />
  );
}

/** Names with their values; false leaves a row out. */
export type FactRows = readonly (readonly [name: string, value: ComponentChildren] | false)[];

export function Facts({ rows }: { rows: FactRows }): ComponentChild {
  const shown = rows.filter((row) => row !== false);
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Characters of a text that scrolls, also by the keyboard. */
const LONG = 160;

/** An ID, an address or a hash, with a button that copies it. */
export function Id({ value, what }: { value: string; what: string }): ComponentChild {
  return (
    <span class="id">
      {value.length > LONG ? (
        <code tabIndex={0} role="region" aria-label={what}>
          {value}
        </code>
      ) : (
        <code>{value}</code>
      )}
      <CopyButton text={value} what={what} />
    </span>
  );
}

/** The ID of a chain or a subnet, after its name if it has one. */
export function NamedId(props: {
  value: string;
  kind: IdKind;
  name?: string | undefined;
  what: string;
}): ComponentChild {
  const { nameOf } = useSession();
  const { value, kind, name = nameOf(value, kind), what } = props;
  return [name && <strong>{name}</strong>, <Id value={value} what={what} />];
}
