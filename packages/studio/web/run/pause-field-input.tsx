import type { PauseField } from './pause-fields.ts';

interface FieldProps {
  field: PauseField;
  value: string;
  onChange: (value: string) => void;
}

/** One field of a form, with a control for the type of its value. */
export function PauseFieldInput({ field, value, onChange }: FieldProps) {
  const { name, type, description, required } = field;
  return (
    <label className="field">
      <span>
        <bdi>{name}</bdi>
        {description !== '' && <small dir="auto"> {description}</small>}
      </span>
      {type === 'boolean' ? (
        <select required={required} value={value} onChange={({ target }) => onChange(target.value)}>
          <option value="">–</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : type === 'object' || type === 'array' ? (
        <textarea
          rows={3}
          required={required}
          value={value}
          placeholder="JSON"
          onChange={({ target }) => onChange(target.value)}
        />
      ) : (
        <input
          type={type === 'number' ? 'number' : 'text'}
          {...(type === 'number' && { step: 'any' })}
          required={required}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </label>
  );
}
