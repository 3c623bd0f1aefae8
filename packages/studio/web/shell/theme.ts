export type Theme = 'system' | 'light' | 'dark';

const STORAGE_KEY = 'heddle-theme';

/** Returns the theme that the user has chosen; 'system' if there is none. */
export function readStoredTheme(): Theme {
  const storedTheme = localStorage.getItem(STORAGE_KEY);
  return storedTheme === 'light' || storedTheme === 'dark' ? storedTheme : 'system';
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(STORAGE_KEY, theme);
  applyStoredTheme();
}

export function applyStoredTheme(): void {
  const theme = readStoredTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
