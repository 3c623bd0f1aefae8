import atob from 'core-js-pure/actual/atob.js';
import btoa from 'core-js-pure/actual/btoa.js';

export { atob, btoa };
