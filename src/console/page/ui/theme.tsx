import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const SIGNS: Readonly<Record<Theme, string>> = { system: '◐', light: '○', dark: '●' };
const NAME = 'theme';

/** Follows the system's theme, unless another was chosen in this tab. */
export function ThemeButton(): ComponentChild {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((known) => known === sessionStorage.getItem(NAME)) ?? 'system',
  );
  useEffect(() => {
    sessionStorage.setItem(NAME, theme);
    document.documentElement.style.colorScheme = theme === 'system' ? '' : theme;
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
  return (
    <button
      type="button"
      class="button small"
      aria-label={`Colours: ${theme}`}
      title={`Colours: ${theme}`}
      onClick={() => setTheme(next)}
    >
      {SIGNS[theme]}
    </button>
  );
}
