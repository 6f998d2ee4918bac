// SPDX-License-Identifier: Apache-2.0
/** What can be checked without helm: the schema, and that the golden files are up to date and keep to the rules for every chart. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { readGolden } from '../../../testing/golden.ts';
import { chartsFolder } from '../../../testing/helm.ts';
import type { Manifest } from '../../../testing/manifest.ts';
import { digestOf, goldenPath, valuesFiles } from '../../../testing/matrix.ts';
import { violations } from '../../../testing/policy.ts';

const chart = 'snapshot-controller';
const folder = join(chartsFolder, chart);
const schema = JSON.parse(readFileSync(join(folder, 'values.schema.json'), 'utf8')) as Record<string, unknown>;
const ajv = new Ajv({ strict: false });

it('given the meta-schema of draft-07, then the schema is valid, and accepts the values of the chart and not a misspelt one', () => {
  expect(schema['$schema']).toBe('http://json-schema.org/draft-07/schema#');
  expect(ajv.validateSchema(schema)).toBe(true);
  const accepts = ajv.compile(schema);
  const values = load(readFileSync(join(folder, 'values.yaml'), 'utf8')) as object;
  expect(accepts(values)).toBe(true);
  expect(accepts({ ...values, contoller: {} })).toBe(false);
});

it('given templates, values and files of the chart, then the golden files were made from them (npm run charts-on-local -- -u)', () => {
  expect(readFileSync(goldenPath(chart, 'digest.txt'), 'utf8').trim()).toBe(digestOf(chart));
});

describe.each(valuesFiles(chart))('objects of $name', ({ name }) => {
  it('given the rules for permissions, images, security contexts, resources and probes, then no object breaks one', () => {
    const objects = JSON.parse(readGolden(chart, 'json', name)) as readonly Manifest[];
    const allowed = { hostPaths: [], hostNetwork: name === 'hostnetwork', unprobed: [] };
    expect(violations(objects, allowed)).toEqual([]);
    expect(violations(objects, { ...allowed, hostNetwork: false })).toHaveLength(name === 'hostnetwork' ? 1 : 0);
  });
});
