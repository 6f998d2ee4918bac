// SPDX-License-Identifier: Apache-2.0
/** Validation of metadata: names, labels, annotations and finalizers, with the API server's wording. */
import { forbiddenField, invalidValue, required, type FieldCause } from './status.ts';
import type { ResourceType } from './resource-type.ts';
import type { StoredObject } from './store.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const qualifiedPart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelPattern = new RegExp(`^${label}$`);
const subdomainPattern = new RegExp(`^${subdomain}$`);
const qualifiedPattern = new RegExp(`^(${subdomain}/)?${qualifiedPart}$`);
const labelValuePattern = new RegExp(`^(${qualifiedPart})?$`);

const subdomainDetail = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`;
const labelDetail = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;
const qualifiedDetail =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueDetail =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
/** The sum of all annotation keys and values. */
const annotationBytes = 256 * 1024;

export function isSubdomain(text: string): boolean {
  return text.length <= 253 && subdomainPattern.test(text);
}

export function metadataCauses(type: ResourceType, object: StoredObject): readonly FieldCause[] {
  const { name, labels, annotations, finalizers } = object.metadata;
  return [
    ...nameCauses(type, name),
    ...Object.entries(labels ?? {}).flatMap(([key, value]) => labelCauses(key, value)),
    ...annotationCauses(annotations ?? {}),
    ...(finalizers ?? []).flatMap((finalizer, index) => finalizerCauses(type, { finalizer, index })),
  ];
}

function nameCauses(type: ResourceType, name: string): readonly FieldCause[] {
  if (name === '') return [required('metadata.name', 'name or generateName is required')];
  if (type.names === 'path')
    return name.includes('/') ? [invalidValue('metadata.name', name, "may not contain '/'")] : [];
  const strict = type.names === 'label';
  const causes: FieldCause[] = [];
  const longest = strict ? 63 : 253;
  if (name.length > longest)
    causes.push(invalidValue('metadata.name', name, `must be no more than ${longest} characters`));
  if (!(strict ? labelPattern : subdomainPattern).test(name)) {
    causes.push(invalidValue('metadata.name', name, strict ? labelDetail : subdomainDetail));
  }
  return causes;
}

function labelCauses(key: string, value: string): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  if (!qualifiedPattern.test(key)) causes.push(invalidValue('metadata.labels', key, qualifiedDetail));
  if (value.length > 63) causes.push(invalidValue('metadata.labels', value, 'must be no more than 63 bytes'));
  if (!labelValuePattern.test(value)) causes.push(invalidValue('metadata.labels', value, labelValueDetail));
  return causes;
}

function annotationCauses(annotations: { readonly [key: string]: string }): readonly FieldCause[] {
  let bytes = 0;
  const causes: FieldCause[] = [];
  for (const [key, value] of Object.entries(annotations)) {
    bytes += key.length + value.length;
    if (!qualifiedPattern.test(key.toLowerCase()))
      causes.push(invalidValue('metadata.annotations', key, qualifiedDetail));
  }
  if (bytes > annotationBytes) {
    causes.push({
      reason: 'FieldValueInvalid',
      field: 'metadata.annotations',
      message: `Too long: may not be more than ${annotationBytes} bytes`,
    });
  }
  return causes;
}

const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

interface PlacedFinalizer {
  readonly finalizer: string;
  readonly index: number;
}

function finalizerCauses(type: ResourceType, { finalizer, index }: PlacedFinalizer): readonly FieldCause[] {
  if (!qualifiedPattern.test(finalizer)) return [invalidValue('metadata.finalizers', finalizer, qualifiedDetail)];
  if (type.group !== '' || standardFinalizers.has(finalizer) || finalizer.includes('/')) return [];
  const detail = 'name is neither a standard finalizer name nor is it fully qualified';
  return [invalidValue(`metadata.finalizers[${index}]`, finalizer, detail)];
}

export function metadataUpdateCauses(next: StoredObject, previous: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  for (const field of ['name', 'namespace', 'uid', 'creationTimestamp'] as const) {
    if (next.metadata[field] !== previous.metadata[field]) {
      causes.push(invalidValue(`metadata.${field}`, next.metadata[field], 'field is immutable'));
    }
  }
  const known = previous.metadata.finalizers ?? [];
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !known.includes(finalizer));
  if (previous.metadata.deletionTimestamp !== undefined && added.length > 0) {
    const found = added.map((finalizer) => `"${finalizer}"`).join(', ');
    const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${found}}`;
    causes.push(forbiddenField('metadata.finalizers', detail));
  }
  return causes;
}
