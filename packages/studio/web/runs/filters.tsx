import { useEffect, useState } from 'react';
import type { RunListSearch } from '../shell/search.ts';
import { PERIODS } from './periods.ts';

const STATUS_OPTIONS = [
  ['', 'Any status'],
  ['running', 'Running'],
  ['pending', 'Paused or waiting'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const;

const TRIGGER_OPTIONS = [
  ['', 'Any trigger'],
  ['api', 'API'],
  ['manual', 'Manual'],
  ['workflow', 'Another workflow'],
] as const;

const PART_OPTIONS = [
  ['input', 'Input'],
  ['output', 'Output'],
  ['error', 'Error'],
] as const;

interface FiltersProps {
  search: RunListSearch;
  onChange: (search: RunListSearch) => void;
}

type FilterName = keyof RunListSearch;

/** The filters of the list of runs. They are in the URL, so that a filtered list can be shared. */
export function Filters({ search, onChange }: FiltersProps) {
  const setFilter = (name: FilterName, value: string) => {
    const { [name]: _previous, ...others } = search;
    if (name === 'text' && value === '' && 'in' in others) delete others.in;
    const isNumber = name === 'minDurationMs' || name === 'minCost';
    onChange(value === '' ? others : { ...others, [name]: isNumber ? Number(value) : value });
  };
  return (
    <form className="filters" role="search" aria-label="Runs" onSubmit={(event) => event.preventDefault()}>
      <SelectField
        label="Status"
        value={search.status}
        options={STATUS_OPTIONS}
        onChange={(value) => setFilter('status', value)}
      />
      <TextField
        label="Workflow"
        value={search.workflowName ?? ''}
        onChange={(value) => setFilter('workflowName', value)}
      />
      <SelectField
        label="Trigger"
        value={search.triggers}
        options={TRIGGER_OPTIONS}
        onChange={(value) => setFilter('triggers', value)}
      />
      <SelectField
        label="Started"
        value={search.since}
        options={[['', 'Any time'], ...PERIODS.map(({ id, label }) => [id, label] as const)]}
        onChange={(value) => setFilter('since', value)}
      />
      <TextField
        label="Value or error"
        value={search.text ?? ''}
        onChange={(value) => setFilter('text', value)}
      />
      {search.text !== undefined && (
        <SelectField
          label="Found in"
          value={search.in}
          options={[['', 'Anything'] as const, ...PART_OPTIONS]}
          onChange={(value) => setFilter('in', value)}
        />
      )}
      <TextField label="Run id" value={search.runId ?? ''} onChange={(value) => setFilter('runId', value)} />
      <MinimumFields search={search} setFilter={setFilter} />
    </form>
  );
}

interface MinimumFieldsProps {
  search: RunListSearch;
  setFilter: (name: FilterName, value: string) => void;
}

function MinimumFields({ search, setFilter }: MinimumFieldsProps) {
  const seconds = search.minDurationMs === undefined ? '' : String(search.minDurationMs / 1000);
  return (
    <>
      <TextField
        label="Longer than (s)"
        type="number"
        value={seconds}
        onChange={(value) => setFilter('minDurationMs', value === '' ? '' : String(Number(value) * 1000))}
      />
      <TextField
        label="Cost over ($)"
        type="number"
        value={search.minCost === undefined ? '' : String(search.minCost)}
        onChange={(value) => setFilter('minCost', value)}
      />
    </>
  );
}

interface SelectFieldProps {
  label: string;
  value: string | undefined;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}

function SelectField({ label, value, options, onChange }: SelectFieldProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value ?? ''} onChange={({ target }) => onChange(target.value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  type?: 'text' | 'number';
  onChange: (value: string) => void;
}

const DEBOUNCE_MS = 250;

/** A field that reports its text when the user has stopped typing. */
function TextField({ label, value, type = 'text', onChange }: TextFieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text.trim()), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <label className="field">
      <span>{label}</span>
      <input
        type={type}
        value={text}
        maxLength={128}
        {...(type === 'number' && { min: 0, step: 'any' })}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  );
}
