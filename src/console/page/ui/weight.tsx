import type { ComponentChild } from 'preact';
import { PRIMARY_NETWORK } from '../session.ts';
import { compactWeight, grouped } from './figures.ts';

/** A rounded weight that shows its exact figure on hover, and gives it when it is copied. */
function Weight({ weight, isAvax }: { weight: bigint; isAvax: boolean }): ComponentChild {
  return (
    <span class="exact" title={`${grouped(weight)}${isAvax ? ' nAVAX' : ''}`} data-exact={String(weight)}>
      {compactWeight(weight, isAvax)}
    </span>
  );
}

/** `23.75 M of 35.00 M AVAX` for the primary network, whose weights are stakes; plain numbers for other subnets. */
export function WeightOf(props: { part: bigint; total: bigint; subnetId: string }): ComponentChild {
  const isAvax = props.subnetId === PRIMARY_NETWORK;
  return [
    <Weight weight={props.part} isAvax={isAvax} />,
    ' of ',
    <Weight weight={props.total} isAvax={isAvax} />,
    isAvax && [' ', <span data-exact="nAVAX">AVAX</span>],
  ];
}

/** Puts exact figures in place of the rounded ones in a line that is copied. */
export function copyExactFigures(event: ClipboardEvent): void {
  const selection = getSelection();
  if (selection === null || selection.rangeCount === 0 || selection.toString().includes('\n')) return;
  const range = selection.getRangeAt(0);
  const copied = document.createElement('div');
  copied.append(range.cloneContents());
  const around = range.commonAncestorContainer.parentElement?.closest<HTMLElement>('[data-exact]');
  const figures = copied.querySelectorAll<HTMLElement>('[data-exact]');
  if (!around && figures.length === 0) return;
  for (const figure of figures) figure.textContent = figure.dataset['exact'] ?? '';
  event.clipboardData?.setData('text/plain', around?.dataset['exact'] ?? copied.textContent);
  event.preventDefault();
}
