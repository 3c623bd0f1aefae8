import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  // The server writes the base path into the page, so that one build works below any path.
  base: './',
  plugins: [react()],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    manifest: true,
    // The Content Security Policy of the page refuses data URLs.
    assetsInlineLimit: 0,
    // With `base: './'`, Vite resolves preloaded files relative to the script. Supported browsers need no polyfill.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
  },
});
