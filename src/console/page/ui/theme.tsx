import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const NAME = 'theme';

/** Follows the system's theme, unless another was chosen in this tab. */
export function ThemeButton(): ComponentChild {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((known) => known === sessionStorage.getItem(NAME)) ?? 'system',
  );
  useEffect(() => {
    sessionStorage.setItem(NAME, theme);
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={`Colours: ${theme}`}
      title={`Colours: ${theme}`}
      onClick={() => setTheme(next)}
    >
      <span class={`glyph theme ${theme}`} aria-hidden />
    </button>
  );
}
