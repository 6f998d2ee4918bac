// SPDX-License-Identifier: Apache-2.0
import { describePoints } from './describe-points.ts';
import { attachFlows } from './attach-flows.ts';

await describePoints(attachFlows, 'e2e/src/simulation/attach-crash-points.test.ts');
