"""The learner: a recurrent actor and critic, and how it plays and learns."""
