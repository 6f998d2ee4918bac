// SPDX-License-Identifier: Apache-2.0
import { CsiError } from '@csi-sidecars/csi';
import { expect, it } from 'vitest';
import { outcomeOfExpansion, outcomeOfModification } from './call-outcome.ts';

const failure = (code: string, isUnreadable = false): CsiError =>
  new CsiError({
    code: code as 'Internal',
    detail: 'no',
    method: '/csi.v1.Controller/ControllerExpandVolume',
    isUnreadable,
  });

it.each([
  ...['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'].map((code) => ({
    code,
    expansion: 'open',
    modification: 'open',
  })),
  { code: 'InvalidArgument', expansion: 'infeasible', modification: 'infeasible' },
  { code: 'NotFound', expansion: 'infeasible', modification: 'final' },
  { code: 'OutOfRange', expansion: 'infeasible', modification: 'final' },
  ...[
    'Unknown',
    'AlreadyExists',
    'PermissionDenied',
    'FailedPrecondition',
    'Unimplemented',
    'Internal',
    'DataLoss',
    'Unauthenticated',
    'Code(42)',
    'toString',
  ].map((code) => ({ code, expansion: 'final', modification: 'final' })),
])('given the answer $code, then an expansion is $expansion, and a modification $modification', (row) => {
  const error = failure(row.code);
  expect([outcomeOfExpansion(error), outcomeOfModification(error)]).toEqual([row.expansion, row.modification]);
});

it('given an answer that could not be read, then the request may have taken effect', () => {
  const error = failure('Internal', true);
  expect([outcomeOfExpansion(error), outcomeOfModification(error)]).toEqual(['open', 'open']);
});

it('given a failure that is no answer of the driver, then the call was not sent', () => {
  const error = new Error('no');
  expect([outcomeOfExpansion(error), outcomeOfModification(error)]).toEqual(['notSent', 'notSent']);
});
