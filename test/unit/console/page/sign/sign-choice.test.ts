import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { placeOf } from '../../../../../src/console/page/session.ts';
import {
  changeChoice,
  chosenOptions,
  differencesOf,
  linkedSigning,
  NO_CHOICE,
  signLink,
} from '../../../../../src/console/page/sign/sign-choice.ts';
import { DEFAULT_OPTIONS, optionsOfBody, type SignOptions } from '../../../../../src/console/page/sign/sign-request.ts';

/** The choice after another text, which brings these options. */
const replaceText = (choice: typeof NO_CHOICE, ofText: Partial<SignOptions> = {}) => ({ ...choice, ofText });
const change = (choice: typeof NO_CHOICE, changed: Partial<SignOptions>) =>
  changeChoice(choice, { ...chosenOptions(choice), ...changed });

describe('options', () => {
  const request = optionsOfBody({ signingSubnetId: 'S', quorumPercentage: 80, quorumPercentageBuffer: 5 });

  test('of a pasted request go with it, and those set by hand come back', () => {
    const byHand = change(NO_CHOICE, { quorum: 70 });
    const pasted = replaceText(byHand, request);
    expect(chosenOptions(pasted)).toEqual(request);
    expect(chosenOptions(replaceText(pasted))).toEqual({ ...DEFAULT_OPTIONS, quorum: 70 });
  });

  test('of a pasted request go with it also after a change by hand', () => {
    const changed = change(replaceText(NO_CHOICE, request), { quorum: 90, signingSubnetId: 'T' });
    expect(chosenOptions(changed)).toMatchObject({ quorum: 90, signingSubnetId: 'T', buffer: 5 });
    expect(chosenOptions(replaceText(changed))).toEqual(DEFAULT_OPTIONS);
  });

  test('that differ from the defaults are listed, with where they come from', () => {
    expect(differencesOf(replaceText(NO_CHOICE, optionsOfBody({})))).toEqual([]);
    const choice = replaceText(change(NO_CHOICE, { quorum: 80, pChainHeight: '7' }), {
      signingSubnetId: 'S',
      buffer: 5,
    });
    expect(differencesOf(choice)).toEqual([
      { label: 'Signing subnet', value: 'S', idKind: 'subnet', isOfText: true },
      { label: 'Quorum', value: '80 %', idKind: undefined, isOfText: false },
      { label: 'Buffer', value: '5 %', idKind: undefined, isOfText: true },
      { label: 'P-Chain height', value: '7', idKind: undefined, isOfText: false },
    ]);
  });

  test('for a destination list a quorum of 67 %, as the destination may ask for another', () => {
    const choice = change(NO_CHOICE, { quorum: 67 });
    expect(differencesOf(choice)).toEqual([]);
    const listed = differencesOf(change(choice, { destinationBlockchainId: 'D' }));
    expect(listed.map(({ label, value }) => `${label} ${value}`)).toEqual(['Destination chain D', 'Quorum 67 %']);
  });
});

describe('a link', () => {
  const linked = (hash: string) => linkedSigning(placeOf(hash).query);
  const trimmed = fc.string().map((text) => text.trim());
  const percentage = fc.integer({ min: 0, max: 100 });

  test('holds what is to be signed, and each option', () => {
    const text = trimmed.filter((typed) => typed !== '');
    const named = fc.record(
      {
        quorum: percentage,
        buffer: percentage,
        signingSubnetId: trimmed,
        destinationBlockchainId: trimmed,
        pChainHeight: trimmed,
        justification: trimmed,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(text, named, (message, some) => {
        const options = { ...DEFAULT_OPTIONS, ...some };
        expect(linked(signLink(message, options))).toEqual({ text: message, options });
      }),
    );
  });

  test('has no message that is empty or too long', () => {
    for (const text of [' ', 'a'.repeat(10_000)]) expect(signLink(text, DEFAULT_OPTIONS)).toBe('#/sign');
    expect(signLink('a', { ...DEFAULT_OPTIONS, justification: 'a'.repeat(10_000) })).toBe('#/sign');
    expect(linked('#/sign')).toBeUndefined();
  });

  test.each(['101', '-1', 'x', ''])('has no quorum of %j', (value) => {
    expect(linked(`#/sign?message=a&quorum=${value}`)?.options).toEqual(DEFAULT_OPTIONS);
  });
});
