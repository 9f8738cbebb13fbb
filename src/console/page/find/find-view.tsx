import type { ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { failureOf } from '../console-api.ts';
import { readPasted } from '../input/pasted-input.ts';
import { useSession } from '../session.ts';
import { Card } from '../ui/controls.tsx';
import { shortened } from '../ui/figures.ts';
import { useAnswer } from '../ui/use-answer.ts';
import { findPlaces } from './find-places.ts';

/** Leads to the place of what was looked for, and lists the places if there are several, or none. */
export function FindView({ text }: { text: string }): ComponentChild {
  const { api, network, nameOf, open } = useSession();
  const answer = useAnswer({ text, network }, (asked, signal) =>
    findPlaces(asked.text, { api, network: asked.network, nameOf, signal }),
  );
  const places = answer?.value;
  const only = places?.length === 1 ? places[0] : undefined;
  useEffect(() => {
    // Going back leads to where the search began.
    if (only !== undefined) location.replace(only.hash);
  }, [only?.hash]);
  const { kind } = readPasted(text);
  // An ID that is known is not that of a new transaction.
  const isSignable = kind === 'bytes' || (kind === 'id' && places?.length === 0);
  return (
    <div class="view">
      <Card title={['Find ', <code>{shortened(text.trim(), 16, 12)}</code>]}>
        {answer === undefined && <p class="hint">Looking among requests, messages, subnets and validators…</p>}
        {answer?.error !== undefined && (
          <p class="problem" role="alert">
            {failureOf(answer.error).message}
          </p>
        )}
        {places?.length === 0 && <p>The service has no request, message, subnet or validator of this.</p>}
        {places !== undefined && places.length > 0 && (
          <ul class="list">
            {places.map(({ hash, name, note }) => (
              <li key={hash}>
                <a href={hash}>{name}</a>
                <span class="muted">{note}</span>
              </li>
            ))}
          </ul>
        )}
        {places !== undefined && isSignable && (
          <div class="card-aside">
            <button type="button" class="button" onClick={() => open('sign', text)}>
              Have it signed
            </button>
            {kind === 'bytes' && (
              <button type="button" class="button" onClick={() => open('inspect', text)}>
                Inspect it
              </button>
            )}
          </div>
        )}
      </Card>
    </div>
  );
}
