import { json } from '@codemirror/lang-json';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';

const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';

const THEME = EditorView.theme({
  '&': { maxHeight: '60vh', fontSize: '12px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', overflow: 'auto' },
});

/** A read-only view of JSON text with syntax highlighting. */
export function JsonText({ text }: { text: string }) {
  const containerRef = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!containerRef.current) return undefined;
    const view = new EditorView({
      parent: containerRef.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          minimalSetup,
          json(),
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.lineWrapping,
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ 'aria-label': 'JSON', tabindex: '0' }),
          THEME,
        ],
      }),
    });
    return () => view.destroy();
  }, [text]);
  return <div ref={containerRef} className="json-text" />;
}
