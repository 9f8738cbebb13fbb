import type { ComponentChild } from 'preact';
import { sharePercent } from '../ui/figures.ts';
import { countsText, levelOf, type Recorded, type RecordedLevel } from './remaining-weight.ts';

/** Marks that differ by their shape. */
const MARKS: Readonly<Record<RecordedLevel, string>> = { all: '●', most: '◕', few: '◑', none: '✕', empty: '–' };

/** The share of questions that a validator signed, by a mark, a number and a colour. */
export function SignedShare({ recorded }: { recorded: Recorded | undefined }): ComponentChild {
  if (recorded === undefined) return '–';
  const { signedShare } = recorded;
  const level = levelOf(recorded);
  return (
    <span class={`signed-share ${level}`} title={countsText(recorded)}>
      <span class="mark" aria-hidden={signedShare !== undefined}>
        {MARKS[level]}
      </span>
      {signedShare !== undefined && sharePercent(signedShare)}
    </span>
  );
}
