import { byId, post, showStatus } from './shared.js';

byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  post(`${location.pathname}/password`, { password: byId('password').value }).then(
    () => location.reload(),
    (error) => {
      showStatus(error.message, true);
      byId('password').select();
    },
  );
});
