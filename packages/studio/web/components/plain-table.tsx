import type { ReactNode } from 'react';

interface PlainTableProps {
  /** The name for screen readers. */
  label: string;
  columns: readonly string[];
  /** The rows. */
  children: ReactNode;
}

/** A table that scrolls sideways where it does not fit. */
export function PlainTable({ label, columns, children }: PlainTableProps) {
  return (
    <div className="scroll-x" role="region" aria-label={label} tabIndex={0}>
      <table className="plain-table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
