// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { recordingLogger } from '../../testing/index.ts';
import { parseWarnings, warningLog } from './warning-header.ts';

it('[runtime#27] given warnings, then those with code 299 are logged, each text once', () => {
  const logger = recordingLogger();
  const log = warningLog(logger);
  log('299 - "v1beta1 is deprecated", 199 - "ignored", 299 kube "unknown field \\"spec.x\\", dropped"');
  log('299 - "v1beta1 is deprecated"');
  log(undefined);
  expect(logger.messages()).toEqual(['Warning: v1beta1 is deprecated', 'Warning: unknown field "spec.x", dropped']);
});

it('given more than 500 texts, then the oldest is forgotten and logged once more when it comes again', () => {
  const logger = recordingLogger();
  const log = warningLog(logger);
  const heard = (n: number): number => {
    log(`299 - "${n}"`);
    return logger.lines.length;
  };
  for (let n = 0; n < 500; n += 1) heard(n);
  expect([heard(0), heard(500), heard(1), heard(0), heard(2), heard(1)]).toEqual([500, 501, 501, 502, 502, 503]);
});

it('given garbage, then nothing is found in it', () => {
  expect(parseWarnings('299 - unquoted, "299 - x", 299 - ""')).toEqual([]);
  expect(parseWarnings('299 - ""')).toEqual([]);
});
