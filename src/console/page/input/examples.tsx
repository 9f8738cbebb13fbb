import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Example } from '../../../devnet/devnet-schemas.ts';
import { failureOf } from '../console-api.ts';
import { useSession } from '../session.ts';
import { groupExamples } from './example-groups.ts';

/** Requests to try: those of the devnet succeed, but for one group. */
export function Examples(props: { isEmpty: boolean; onText: (text: string) => void }): ComponentChild {
  const { isEmpty, onText } = props;
  const [examples, setExamples] = useState<readonly Example[]>([]);
  const [problem, setProblem] = useState<string>();
  const { api, facts } = useSession();
  const { hasDevnet, example } = facts;
  useEffect(() => {
    if (!hasDevnet) return;
    api.examples().then(setExamples, () => undefined);
  }, [hasDevnet]);
  /** A new message each time, which the feed does not sign: one that was signed before is answered from memory, with nothing to see. */
  const takeNew = async () => {
    try {
      onText(await api.newDevnetMessage());
      setProblem(undefined);
      if (examples.length === 0) setExamples(await api.examples());
    } catch (error) {
      setProblem(failureOf(error).message);
    }
  };
  if (!hasDevnet) {
    return (
      example !== undefined && (
        <button type="button" class="button small" onClick={() => onText(JSON.stringify(example, null, 1))}>
          Try an example that is refused
        </button>
      )
    );
  }
  return (
    <div class="card-aside">
      {problem !== undefined && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      <button type="button" class={`button ${isEmpty ? 'primary' : 'small'}`} onClick={() => void takeNew()}>
        Try an example
      </button>
      {examples.length > 0 && (
        <select
          aria-label="Another example"
          class="examples"
          value=""
          onChange={(event) => {
            const select = event.currentTarget;
            if (select.value !== '') onText(select.value);
            select.value = '';
          }}
        >
          <option value="">More…</option>
          {groupExamples(examples).map(([group, list]) => (
            <optgroup key={group} label={group}>
              {list.map(({ name, text }) => (
                <option key={name} value={text}>
                  {name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      )}
    </div>
  );
}
