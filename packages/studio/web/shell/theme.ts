export type Theme = 'system' | 'light' | 'dark';

const KEY = 'heddle-theme';

/** Returns the theme that the user has chosen; 'system' if there is none. */
export function readStoredTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyStoredTheme();
}

export function applyStoredTheme(): void {
  const theme = readStoredTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
