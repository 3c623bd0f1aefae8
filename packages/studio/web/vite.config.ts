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
    // Data addresses are refused by the policy of the page.
    assetsInlineLimit: 0,
    // The preload helper of Vite resolves addresses by the page, not by the script: with `base: './'` it uses import.meta.url.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
  },
});
