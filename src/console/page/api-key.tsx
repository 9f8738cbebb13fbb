import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ConsoleApi, KeyVerdict } from './console-api.ts';
import { TextField } from './ui/controls.tsx';

/** `none`: no key is typed in; `checking`: the service has not answered yet. */
export type KeyState = KeyVerdict | 'none' | 'checking';

const BUTTON_TEXTS: Readonly<Record<KeyState, string>> = {
  none: 'Key',
  checking: 'Key …',
  accepted: 'Key ✓',
  refused: 'Key ✕',
  ignored: 'Key –',
  unknown: 'Key ?',
};
const MEANINGS: Readonly<Record<KeyState, string>> = {
  none: 'none',
  checking: 'being checked',
  accepted: 'accepted',
  refused: 'the service does not know it',
  ignored: 'ignored, as the service has no keys',
  unknown: 'could not be checked',
};

/**
 * The API key of the tab, and whether the service accepts it.
 *
 * @param isNeeded whether requests without one are refused
 */
export function useApiKey(api: ConsoleApi, isNeeded: boolean) {
  const [state, setState] = useState<KeyState>(api.key === '' ? 'none' : 'checking');
  const [isAsked, setAsked] = useState(isNeeded && api.key === '');
  const check = async (): Promise<KeyState> => {
    if (api.key === '') return 'none';
    setState('checking');
    return api.checkKey();
  };
  useEffect(() => {
    api.onUnauthorized = () => {
      setAsked(true);
      if (api.key !== '') setState('refused');
    };
    void check().then(setState);
  }, []);
  const use = async (key: string): Promise<KeyState> => {
    api.key = key;
    const checked = await check();
    setState(checked);
    setAsked(checked === 'refused' || checked === 'ignored');
    return checked;
  };
  return { state, isAsked, setAsked, use };
}

export function KeyButton({ apiKey }: { apiKey: ReturnType<typeof useApiKey> }): ComponentChild {
  const { state, isAsked, setAsked } = apiKey;
  const button = useRef<HTMLButtonElement>(null);
  const wasAsked = useRef(isAsked);
  useEffect(() => {
    // The form had the focus, and is gone.
    if (wasAsked.current && !isAsked) button.current?.focus();
    wasAsked.current = isAsked;
  }, [isAsked]);
  return (
    <button
      ref={button}
      type="button"
      class={`button small ${state === 'refused' ? 'bad' : ''}`}
      aria-expanded={isAsked}
      aria-label={`API key: ${MEANINGS[state]}`}
      title={`API key: ${MEANINGS[state]}`}
      onClick={() => setAsked(!isAsked)}
    >
      {BUTTON_TEXTS[state]}
    </button>
  );
}

interface KeyFormProps {
  readonly api: ConsoleApi;
  readonly apiKey: ReturnType<typeof useApiKey>;
  readonly isNeeded: boolean;
}

export function KeyForm({ api, apiKey, isNeeded }: KeyFormProps): ComponentChild {
  const { state, use } = apiKey;
  const [typed, setTyped] = useState(api.key);
  const submit = (event: Event) => {
    event.preventDefault();
    void use(typed.trim());
  };
  const isBad = state === 'refused' || state === 'ignored';
  return (
    <form class="key-form" aria-label="Access" onSubmit={submit}>
      <TextField
        label="API key"
        hint={`${isNeeded ? 'This service answers requests with one only.' : 'It raises your limits, and shows your requests.'} It stays in this tab, and is gone with it.`}
        type="password"
        value={typed}
        onValue={setTyped}
      />
      <button type="submit" class="button primary">
        Use it
      </button>
      {isBad && (
        <p class="problem" role="alert">
          {state === 'refused'
            ? 'The service does not know this key.'
            : 'The service has no API keys: it ignores this one.'}
        </p>
      )}
    </form>
  );
}
