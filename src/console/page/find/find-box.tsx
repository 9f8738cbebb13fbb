import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';

/** One box for any ID, hash, address or message, in all views. */
export function FindBox(): ComponentChild {
  const [typed, setTyped] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim() === '') return;
    location.hash = `#/find?text=${encodeURIComponent(typed.trim())}`;
    setTyped('');
  };
  return (
    <form class="find" role="search" onSubmit={submit}>
      <input
        type="search"
        aria-label="Find an ID, a hash, an address or a message"
        placeholder="Find any ID or message"
        value={typed}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </form>
  );
}
